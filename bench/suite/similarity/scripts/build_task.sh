#!/bin/sh -e
# Compile the plans of all sizes, or of those named after the folder of the submission, unless they are newer than the
# program, and put the stages beside them.
task=$1
shift
[ $# -gt 0 ] || set -- toy small
mkdir -p "$task/build"
cp "$task"/stages/* "$task/build"
for size in "$@"; do
    case $size in
    toy) vectors=1000 ;;
    small) vectors=50000 ;;
    *) echo "$0: there is no size $size; give toy or small" >&2 && exit 2 ;;
    esac
    plan=$task/build/$size
    [ ! "$plan.lwclient" -nt "$task/model.py" ] || continue
    python3 "$task/vectors.py" calibrate "$vectors" "$plan.npz"
    latticework compile "$task/model.py:$size" --calibrate "$plan.npz" --precision-bits 8 -o "$plan.lwplan" --force
done
