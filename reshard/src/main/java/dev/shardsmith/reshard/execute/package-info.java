/**
 * Carries out a plan: moves the bytes in bounded memory, journals what is done, and publishes the result by one rename.
 *
 * <p>The work is cut into bands, boxes of one logical tensor of about a MiB. A band is read once from the source pieces that
 * it meets, into one row-major buffer; there its byte order, its lazy flags and its element type are settled, replicas are
 * compared and fills are added; then it is written to every target piece that it meets, a contiguous stretch of a file at a
 * time. Bands are independent of each other, so workers and processes may take them in any order and the bytes are the same.
 *
 * <p>A sum over any order also gives the CRC-32 of each slot: the checksum of a stretch, shifted past the bytes that follow
 * it in the slot, is a term, and the exclusive or of all terms is the checksum of the whole.
 * In the same way the checksums that PyTorch recorded of the sources are checked while they are read.
 *
 * <p>Beside the destination {@code NAME} lies, while the work goes on, the folder {@code .NAME.shardsmith-partial}:
 *
 * <pre>
 * lock           locked by the process, or byte i of it by task i
 * header         which plan this is, and how it was cut into bands
 * journal-i-n    the finished work of task i of n: records, each after its data was forced to the disk
 * output/        the target's files, or its one file
 * publishing     is there once the target is complete
 * replaced       what was at the destination before, between the two renames that replace it
 * </pre>
 */
package dev.shardsmith.reshard.execute;
