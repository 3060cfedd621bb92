"""A convolutional network like LeNet-5 on handwritten digits: trained in NumPy, evaluated as a program."""
