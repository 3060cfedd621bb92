"""The workloads of the community's benchmark suite (HomomorphicEncryption.org), and a driver for them."""
