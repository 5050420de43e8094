/**
 * The forward passes of {@code verify} on an NVIDIA card, through the driver API alone: no CUDA toolkit, no NVRTC and no
 * cuBLAS are needed where it runs.
 *
 * <p>{@link dev.shardsmith.gpu.GpuBackend} is the way in, found by {@link java.util.ServiceLoader}. Behind it: {@code Gpu}
 * is one opened card; {@code Driver} is everything that is asked of the driver, so that launch geometry and memory
 * handling are tested without a card; {@code ChunkScan} and {@code HopperScan} cut a state-space scan into launches; {@code WeightUpload} brings stored weights.
 *
 * <p>The kernels are CUDA C++ under {@code src/main/cuda}; {@code build-kernels.sh} compiles them to the PTX resources of
 * this package. Three images are carried:
 *
 * <ul>
 *   <li>{@code kernels-sm90a.cubin}: machine code for Hopper cards and drivers from 580;
 *   <li>{@code kernels-compute80.ptx}: PTX ISA 7.8, for every card from Ampere on and drivers from 520;
 *   <li>{@code kernels-sm90a.ptx}: PTX ISA 8.0, for Hopper cards and drivers from 525; it alone has the scan on Hopper's
 *       warpgroup matrix units.
 * </ul>
 */
package dev.shardsmith.gpu;
