#!/bin/sh -e
# Compile the plans of all sizes, or of those named after the folder of the submission, unless they are newer than what
# they are made of, and put the stages beside them.
task=$1
shift
[ $# -gt 0 ] || set -- single small medium large
[ -e "$task/weights.npz" ] || { echo "$0: there is no $task/weights.npz; its README says how it is trained" >&2 && exit 1; }
mkdir -p "$task/build"
cp "$task"/stages/* "$task/build"
for size in "$@"; do
    case $size in
    single) batch= ;; # rotations, which are quickest for one image, and take keys
    small | medium | large) batch="--batch 2048 --objective throughput" ;;
    *) echo "$0: there is no size $size; give single, small, medium or large" >&2 && exit 2 ;;
    esac
    plan=$task/build/$size
    [ ! "$plan.lwclient" -nt "$task/model.py" ] || [ ! "$plan.lwclient" -nt "$task/weights.npz" ] || continue
    latticework compile "$task/model.py" --weights "$task/weights.npz" --calibrate "$task/calibration.npy" $batch \
        --precision-bits 7 -o "$plan.lwplan" --force
done
