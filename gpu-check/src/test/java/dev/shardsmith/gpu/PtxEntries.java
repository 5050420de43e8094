package dev.shardsmith.gpu;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The kernels of an image and the bytes of their parameters, read from its PTX. */
record PtxEntries(Map<String, List<Integer>> parameterBytes) {
    private static final Pattern ENTRY = Pattern.compile("\\.entry (\\w+)\\(([^)]*)\\)");
    private static final Pattern PARAMETER =
            Pattern.compile("\\.param (?:\\.align \\d+ )?\\.([a-z])(\\d+) [^,\\[\\n]*(?:\\[(\\d+)\\])?");

    static PtxEntries of(KernelImage image) {
        Map<String, List<Integer>> entries = new LinkedHashMap<>();
        Matcher entry = ENTRY.matcher(new String(image.read(), StandardCharsets.UTF_8));
        while (entry.find()) {
            List<Integer> bytes = new ArrayList<>();
            Matcher parameter = PARAMETER.matcher(entry.group(2));
            while (parameter.find()) {
                int width = Integer.parseInt(parameter.group(2)) / 8;
                bytes.add(parameter.group(3) == null ? width : width * Integer.parseInt(parameter.group(3)));
            }
            entries.put(entry.group(1), bytes);
        }
        return new PtxEntries(entries);
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
