# Where the files of a size are, for `. submission/folders.sh` in a stage, whose words are a number and --count_only.
case ${1:-0} in
0) size=toy vectors=1000 ;;
1) size=small vectors=50000 ;;
*) echo "$0: there is no size $1 here; give 0 (toy) or 1 (small)" >&2 && exit 2 ;;
esac
case " $* " in
*" --count_only "*) ;;
*) echo "$0: vectors are counted here, and no payloads fetched; give --count_only" >&2 && exit 2 ;;
esac
program=submission/build/$size
data=datasets/$size
io=io/$size
