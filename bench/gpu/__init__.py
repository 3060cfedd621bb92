"""What a bare machine with a GPU is asked: `bench/gpu/run_all.sh`. Needs NumPy, pytest and what builds latticework."""
