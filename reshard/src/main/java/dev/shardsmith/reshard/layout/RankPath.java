package dev.shardsmith.reshard.layout;

import java.nio.file.Path;

/**
 * A rank's file and the numbers of its folder's name: {@code mp_rank_01_002} gives 1 and 2.
 *
 * @param folder the folder's name
 * @param numbers one to three numbers, the first being the tensor-parallel rank
 * @param file the file with the model
 */
record RankPath(String folder, int[] numbers, Path file) {}
