package dev.shardsmith.cli;

import java.io.OutputStream;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;

/**
 * Loads the classes that commands need, so that the launcher can archive them.
 *
 * <p>Runs a few command lines with their output thrown away; Java then writes the archive when it exits.
 */
public final class WarmUp {
    private WarmUp() {}

    /** Runs the command lines; takes a small checkpoint to run them on and a folder to write to, or nothing. */
    public static void main(String[] words) {
        List<String[]> lines = new ArrayList<>();
        lines.add(new String[] {"--help"});
        lines.add(new String[] {"doctor", "--json"});
        lines.add(new String[] {"help", "doctor"});
        lines.add(new String[] {"pattern", "M-|M*"});
        lines.add(new String[] {"no-such-command", "--json"});
        if (words.length > 1) {
            String sample = words[0];
            String merged = words[1] + "/merged";
            lines.add(new String[] {"inspect", sample, "--tensors", "--json"});
            lines.add(new String[] {"inspect", sample, "--stats"});
            lines.add(new String[] {"convert", sample, merged, "--tp", "1", "--pp", "1", "--dry-run"});
            lines.add(new String[] {"convert", sample, merged, "--tp", "1", "--pp", "1"});
            lines.add(new String[] {"convert", merged, words[1] + "/dist", "--to", "torch_dist", "--tp", "2"});
            lines.add(new String[] {"convert", merged, words[1] + "/hf", "--to", "huggingface"});
            String dist = words[1] + "/dist";
            String folder = words[1] + "/hf";
            lines.add(new String[] {"convert", merged, words[1] + "/split", "--tp", "2", "--pp", "2"});
            lines.add(new String[] {"convert", dist, words[1] + "/dist2", "--to", "torch_dist", "--tp", "1", "--pp", "2"
            });
            lines.add(new String[] {"convert", dist, words[1] + "/hf2", "--to", "huggingface"});
            lines.add(new String[] {"convert", folder, words[1] + "/tp2", "--to", "megatron", "--tp", "2"});
            lines.add(new String[] {"convert", folder, words[1] + "/hf3", "--max-shard-size", "1M"});
            lines.add(new String[] {"convert", folder, words[1] + "/file.safetensors", "--to", "safetensors"});
            lines.add(new String[] {"inspect", dist});
            lines.add(new String[] {"inspect", folder});
            lines.add(new String[] {"diff", sample, merged});
            for (String seed : List.of("1", "2")) {
                lines.add(new String[] {
                    "sample",
                    words[1] + "/seed" + seed,
                    "--pattern",
                    "M-M*",
                    "--hidden",
                    "64",
                    "--heads",
                    "2",
                    "--vocab",
                    "64",
                    "--seed",
                    seed
                });
            }
            lines.add(new String[] {"diff", words[1] + "/seed1", words[1] + "/seed2"});
            lines.add(new String[] {"manifest", sample, "-o", words[1] + "/manifest"});
            lines.add(new String[] {"validate", sample});
            lines.add(new String[] {"scan", sample});
        }
        PrintStream nowhere = Main.stream(OutputStream.nullOutputStream(), false);
        for (String[] line : lines) {
            new Shardsmith(nowhere, nowhere, System.getenv()).run(line);
        }
    }
}
