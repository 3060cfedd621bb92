# Where the files of a size are, for `. submission/folders.sh` in a stage, whose first word is the number of the size.
keys=
case ${1:-0} in
0) size=single keys="-k io/single/public_keys" ;; # of one image rotations are quickest, and they take keys
1) size=small ;;
2) size=medium ;;
3) size=large ;;
*) echo "$0: there is no size $1; give 0 (single), 1 (small), 2 (medium) or 3 (large)" >&2 && exit 2 ;;
esac
program=submission/build/$size
data=datasets/$size/intermediate
io=io/$size
