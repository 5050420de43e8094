package dev.shardsmith.cli;

/**
 * One command line that shows what a command is for; help prints it and a test runs it.
 *
 * <p>{@code samples/…} in the line is the folder of the repository, {@code /tmp/…} any scratch folder.
 *
 * @param line what a user types, beginning with {@code shardsmith}
 * @param purpose what it does, in one short sentence
 */
record Example(String line, String purpose) {}
