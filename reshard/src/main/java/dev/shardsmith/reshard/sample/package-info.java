/**
 * Seeded random models of any size, for tests, benchmarks and trying things out.
 *
 * <p>A sample is a model view like any other whose bytes come from a generator instead of files, so writing one is an ordinary
 * conversion.
 */
package dev.shardsmith.reshard.sample;
