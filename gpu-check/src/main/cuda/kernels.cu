// All kernels, one module. build-kernels.sh turns this file into the resources that the host code loads.
#include "attention.cuh"
#include "compare.cuh"
#include "layer.cuh"
#include "scan.cuh"
#include "scan_hopper.cuh"
#include "wide.cuh"
