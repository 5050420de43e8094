package dev.shardsmith.reshard.layout;

import java.nio.file.Path;
import java.util.List;

/**
 * A rank's file and the numbers of its folder's name: {@code mp_rank_01_002} gives 1 and 2.
 *
 * @param folder the folder's name
 * @param numbers one to three numbers, the first being the tensor-parallel rank
 * @param file the file with the model
 * @param others files of an optimizer's state that belong to it
 */
record RankPath(String folder, int[] numbers, Path file, List<Path> others) {}
