package dev.shardsmith.formats.safetensors;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.safetensors.IndexFinding.Code;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;

/** The index of a sharded Hugging Face checkpoint, of safetensors or of {@code pytorch_model} files. */
public final class SafetensorsIndex {
    /** File name of the index beside safetensors files. */
    public static final String SAFETENSORS_NAME = "model.safetensors.index.json";

    /** File name of the index beside {@code pytorch_model-*.bin} files. */
    public static final String BIN_NAME = "pytorch_model.bin.index.json";

    /** Real ones are below 20 MB. */
    private static final int MAX_BYTES = 256 << 20;

    private static final JsonFactory JSON = JsonFactory.builder()
            .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES)
            .build();

    private final String name;
    private final Map<String, String> weightMap;
    private final OptionalLong totalSize;

    private SafetensorsIndex(String name, Map<String, String> weightMap, OptionalLong totalSize) {
        this.name = name;
        this.weightMap = Collections.unmodifiableMap(weightMap);
        this.totalSize = totalSize;
    }

    /**
     * Reads an index.
     *
     * @throws CheckpointException if it is not JSON, has no {@code weight_map}, or lists a tensor twice
     */
    public static SafetensorsIndex read(ByteSource source) throws IOException {
        if (source.size() > MAX_BYTES) {
            throw CheckpointException.of(
                    CheckpointException.Kind.LIMIT,
                    source.name(),
                    "an index of " + source.size() + " bytes is above the limit of " + MAX_BYTES);
        }
        byte[] bytes = source.readBytes(0, (int) source.size());
        try (JsonParser json = JSON.createParser(bytes)) {
            return read(source.name(), json);
        } catch (JsonProcessingException e) {
            throw CheckpointException.malformed(
                            source.name(),
                            Math.max(
                                    0,
                                    e.getLocation() == null
                                            ? 0
                                            : e.getLocation().getByteOffset()),
                            "the index is not valid JSON: " + e.getOriginalMessage())
                    .causedBy(e);
        }
    }

    private static SafetensorsIndex read(String name, JsonParser json) throws IOException {
        Map<String, String> weightMap = null;
        OptionalLong totalSize = OptionalLong.empty();
        if (json.nextToken() != JsonToken.START_OBJECT) {
            throw CheckpointException.malformed(name, 0, "the index is not a JSON object");
        }
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            String field = json.currentName();
            JsonToken token = json.nextToken();
            if (field.equals("weight_map") && token == JsonToken.START_OBJECT) {
                weightMap = readWeightMap(name, json);
            } else if (field.equals("metadata") && token == JsonToken.START_OBJECT) {
                totalSize = readTotalSize(json);
            } else {
                json.skipChildren();
            }
        }
        if (weightMap == null) {
            throw CheckpointException.of(
                    CheckpointException.Kind.MALFORMED, name, "the index has no weight_map object");
        }
        return new SafetensorsIndex(name, weightMap, totalSize);
    }

    private static Map<String, String> readWeightMap(String name, JsonParser json) throws IOException {
        Map<String, String> weightMap = new LinkedHashMap<>();
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            String tensor = json.currentName();
            if (json.nextToken() != JsonToken.VALUE_STRING) {
                throw malformed(name, json, "weight_map gives no file name for tensor '" + tensor + "'");
            }
            if (weightMap.putIfAbsent(tensor, json.getText()) != null) {
                throw malformed(name, json, "weight_map lists tensor '" + tensor + "' twice");
            }
        }
        return weightMap;
    }

    private static OptionalLong readTotalSize(JsonParser json) throws IOException {
        OptionalLong size = OptionalLong.empty();
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            String field = json.currentName();
            JsonToken token = json.nextToken();
            if (field.equals("total_size") && token.isNumeric()) {
                // Some writers give a float here.
                double approximate = json.getDoubleValue();
                size = OptionalLong.of(
                        token == JsonToken.VALUE_NUMBER_INT && Math.abs(approximate) < 0x1p62
                                ? json.getLongValue()
                                : (long) approximate);
            } else {
                json.skipChildren();
            }
        }
        return size;
    }

    /** The file of each tensor, in the order of the index; names are as written and may be unsafe to open. */
    public Map<String, String> weightMap() {
        return weightMap;
    }

    /** The sum of the tensors' bytes as the index claims it. */
    public OptionalLong totalSize() {
        return totalSize;
    }

    /** The files of the index that may be opened, each once, in order: names without a path. */
    public List<String> files() {
        Set<String> files = new LinkedHashSet<>(weightMap.values());
        files.removeIf(file -> !isPlainName(file));
        return new ArrayList<>(files);
    }

    /** True for a name that stays in the folder. */
    static boolean isPlainName(String file) {
        return !file.isEmpty()
                && !file.equals(".")
                && !file.equals("..")
                && file.indexOf('/') < 0
                && file.indexOf('\\') < 0
                && file.indexOf('\0') < 0;
    }

    /**
     * Compares the index with what the files hold.
     *
     * @param shards for each file of the folder that could be opened: its tensors and the bytes of each
     * @return what does not fit, errors and warnings in the order of the index; empty if all is well
     */
    public List<IndexFinding> check(Map<String, Map<String, Long>> shards) {
        List<IndexFinding> findings = new ArrayList<>();
        for (String file : new LinkedHashSet<>(weightMap.values())) {
            if (!isPlainName(file)) {
                findings.add(new IndexFinding(
                        Code.UNSAFE_PATH,
                        file,
                        name + " names the file '" + file + "', which is not a plain file name"));
            } else if (!shards.containsKey(file)) {
                findings.add(new IndexFinding(
                        Code.MISSING_FILE, file, name + " names the file " + file + ", which is missing"));
            }
        }
        Collection<Map<String, Long>> tensors = shards.values();
        if (fits(shards)) {
            checkFiles(shards.keySet(), findings);
            checkTotal(tensors.stream().mapToLong(SafetensorsIndex::sum).sum(), findings);
            return findings;
        }
        Map<String, List<String>> holders = holders(shards);
        weightMap.forEach((tensor, file) -> {
            List<String> holding = holders.getOrDefault(tensor, List.of());
            if (holding.isEmpty()) {
                if (shards.containsKey(file)) {
                    findings.add(new IndexFinding(
                            Code.GHOST_TENSOR, tensor, tensor + " is listed in " + file + ", but no file has it"));
                }
            } else if (!holding.contains(file)) {
                findings.add(new IndexFinding(
                        Code.WRONG_SHARD,
                        tensor,
                        tensor + " is listed in " + file + ", but lies in " + String.join(", ", holding)));
            }
        });
        findUnlisted(holders, findings);
        checkFiles(shards.keySet(), findings);
        Map<String, Long> distinct = new LinkedHashMap<>();
        tensors.forEach(distinct::putAll);
        checkTotal(sum(distinct), findings);
        return findings;
    }

    /** True if every tensor of the index lies in its file and the files have no more: then none lies in two. */
    private boolean fits(Map<String, Map<String, Long>> shards) {
        int there = shards.values().stream().mapToInt(Map::size).sum();
        return there == weightMap.size()
                && weightMap.entrySet().stream()
                        .allMatch(entry ->
                                shards.getOrDefault(entry.getValue(), Map.of()).containsKey(entry.getKey()));
    }

    private static long sum(Map<String, Long> sizes) {
        long sum = 0;
        for (long size : sizes.values()) {
            sum += size;
        }
        return sum;
    }

    private static Map<String, List<String>> holders(Map<String, Map<String, Long>> shards) {
        Map<String, List<String>> holders = new LinkedHashMap<>();
        shards.forEach((file, tensors) -> {
            for (String tensor : tensors.keySet()) {
                holders.computeIfAbsent(tensor, key -> new ArrayList<>(1)).add(file);
            }
        });
        return holders;
    }

    private void findUnlisted(Map<String, List<String>> holders, List<IndexFinding> findings) {
        holders.forEach((tensor, files) -> {
            if (files.size() > 1) {
                findings.add(new IndexFinding(
                        Code.DUPLICATE_TENSOR,
                        tensor,
                        tensor + " lies in " + files.size() + " files: " + String.join(", ", files)));
            }
            if (!weightMap.containsKey(tensor)) {
                findings.add(new IndexFinding(
                        Code.UNINDEXED_TENSOR,
                        tensor,
                        tensor + " lies in " + files.get(0) + ", but is not in the index"));
            }
        });
    }

    private void checkFiles(Set<String> shards, List<IndexFinding> findings) {
        Set<String> named = new HashSet<>(weightMap.values());
        for (String file : shards) {
            if (!named.contains(file)) {
                findings.add(new IndexFinding(Code.UNINDEXED_FILE, file, "no tensor of the index is in " + file));
            }
        }
    }

    private void checkTotal(long sum, List<IndexFinding> findings) {
        if (totalSize.isPresent() && sum != totalSize.getAsLong()) {
            findings.add(new IndexFinding(
                    Code.WRONG_TOTAL_SIZE,
                    "total_size",
                    "total_size is " + totalSize.getAsLong() + ", but the tensors have " + sum + " bytes"));
        }
    }

    private static CheckpointException malformed(String name, JsonParser json, String problem) {
        return CheckpointException.malformed(
                name, Math.max(0, json.currentTokenLocation().getByteOffset()), problem);
    }
}
