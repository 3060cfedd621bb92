#!/usr/bin/env bash
# Builds latticework on a machine with an NVIDIA GPU, and asks that GPU everything: is it right, and how fast is it?
#
#   bench/gpu/run_all.sh [--device cuda|sim] [--only PART[,PART...]] [--patience N] [OUTPUT]
#
# Needs nvcc 13, a C++ compiler, cmake, ninja, Python 3.11 or later (PYTHON) with NumPy, nanobind, scikit-build-core and
# pytest; no package index, and nothing outside the repository. Each part has a limit of time and a JSON file of its own in
# OUTPUT (build/gpu/results), which is there before the next part begins; all together take at most nine minutes. The last
# also leaves trace.json there, the kernels of a run for a viewer of Chrome traces; whole.json has the rows of all parts, for
# `latticework bench show`. --only
# goes on where something failed; --patience makes all limits N times as long, for a machine that others use too.
# --device sim rehearses it all without a GPU: things are counted, nothing is timed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# PART=seconds, in order
PARTS="build=180 conformance=50 sanitizer=60 rates=15 ladder=40 operations=50 bootstrap=70 programs=75"
python=${PYTHON:-python3}
device=cuda only= patience=1 output=build/gpu/results
while [ $# -gt 0 ]; do
  case $1 in
    --device) device=$2; shift 2 ;;
    --only) only=",$2,"; shift 2 ;;
    --patience) patience=$2; shift 2 ;;
    -*) echo "usage: $0 [--device cuda|sim] [--only PART[,PART...]] [--patience N] [OUTPUT]" >&2; exit 2 ;;
    *) output=$1; shift ;;
  esac
done
mkdir -p "$output"
[ -n "$only" ] || rm -f "$output"/*.json
site=$PWD/build/gpu/site
export PYTHONPATH=$site:$PWD${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1

build() {
  local begin=$SECONDS with=OFF
  [ "$device" = sim ] || with=ON
  # Of the architecture that is here alone: others would only take time.
  local architecture
  architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
  rm -rf "$site" && timeout -k 5 "$1" "$python" -m pip install . --quiet --no-index --no-build-isolation --no-deps \
    --target "$site" --config-settings=build-dir=build/gpu/cmake --config-settings=cmake.define.LATTICEWORK_CUDA=$with \
    ${architecture:+--config-settings=cmake.define.LATTICEWORK_CUDA_ARCHITECTURES=$architecture}
  local status=$?
  printf '{"suite": "xehe", "conditions": {"part": "build", "is complete": %s, "seconds": %d}, "rows": []}\n' \
    "$([ $status = 0 ] && echo true || echo false)" $((SECONDS - begin)) >"$output/build.json"
  return $status
}

failed=
for entry in $PARTS; do
  part=${entry%=*} limit=$((${entry#*=} * patience))
  [ -z "$only" ] || [[ $only = *,$part,* ]] || continue
  echo "== $part, at most $limit s"
  begin=$SECONDS
  if [ "$part" = build ]; then
    build "$limit" || { echo "== the build failed; nothing can be measured" >&2; exit 1; }
  else
    timeout -k 5 "$limit" "$python" -m bench.gpu.part "$part" --device "$device" --output "$output/$part.json" ||
      failed="$failed $part"
  fi
  echo "== $part: $((SECONDS - begin)) s"
done

files=()
for entry in $PARTS; do
  [ ! -f "$output/${entry%=*}.json" ] || files+=("$output/${entry%=*}.json")
done
"$python" -m bench.gpu.part --table "${files[@]}" --output "$output/whole.json"
[ -z "$failed" ] || { echo "failed, or ended early:$failed" >&2; exit 1; }
