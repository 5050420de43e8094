/**
 * The command line {@code shardsmith}: one class per command, and the frame that they share.
 *
 * <p>{@link dev.shardsmith.cli.Main} is the only class that touches {@code System.out} and {@code System.exit}. The rest
 * writes to an {@link dev.shardsmith.cli.Out} and returns an {@link dev.shardsmith.cli.ExitCode}, so tests run commands
 * in-process. Options are defined once, with Apache Commons CLI; help texts, man pages and shell completion are derived
 * from these definitions.
 *
 * <p>May use every other module; nothing may use this package.
 */
package dev.shardsmith.cli;
