package dev.shardsmith.gpu;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The kernels of an image, read from its PTX.
 *
 * @param parameterBytes the bytes of the parameters of each
 * @param threads the most threads of a block, of those that were compiled for a number of them
 */
record PtxEntries(Map<String, List<Integer>> parameterBytes, Map<String, Integer> threads) {
    private static final Pattern ENTRY = Pattern.compile("\\.entry (\\w+)\\(([^)]*)\\)(?:\\s*\\.maxntid (\\d+))?");
    private static final Pattern PARAMETER =
            Pattern.compile("\\.param (?:\\.align \\d+ )?\\.([a-z])(\\d+) [^,\\[\\n]*(?:\\[(\\d+)\\])?");

    static PtxEntries of(KernelImage image) {
        Map<String, List<Integer>> entries = new LinkedHashMap<>();
        Map<String, Integer> threads = new LinkedHashMap<>();
        Matcher entry = ENTRY.matcher(new String(image.read(), StandardCharsets.UTF_8));
        while (entry.find()) {
            List<Integer> bytes = new ArrayList<>();
            Matcher parameter = PARAMETER.matcher(entry.group(2));
            while (parameter.find()) {
                int width = Integer.parseInt(parameter.group(2)) / 8;
                bytes.add(parameter.group(3) == null ? width : width * Integer.parseInt(parameter.group(3)));
            }
            entries.put(entry.group(1), bytes);
            if (entry.group(3) != null) {
                threads.put(entry.group(1), Integer.parseInt(entry.group(3)));
            }
        }
        return new PtxEntries(entries, threads);
    }

    Set<String> names() {
        return parameterBytes.keySet();
    }

    /** Bytes of the arguments of a launch. */
    static List<Integer> bytesOf(List<Argument> arguments) {
        return arguments.stream()
                .map(argument -> {
                    if (argument instanceof Argument.Words words) {
                        return Integer.BYTES * words.values().length;
                    }
                    return argument instanceof Argument.Single ? Float.BYTES : Long.BYTES;
                })
                .toList();
    }
}
