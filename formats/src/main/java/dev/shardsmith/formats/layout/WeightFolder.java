package dev.shardsmith.formats.layout;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.layout.CheckpointLocation.HuggingFace;
import dev.shardsmith.formats.layout.CheckpointLocation.MambaSsm;
import dev.shardsmith.formats.layout.CheckpointLocation.WeightFormat;
import dev.shardsmith.formats.safetensors.SafetensorsIndex;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Folders of plain weight files: Hugging Face's and mamba_ssm's. */
final class WeightFolder {
    private static final String CONFIG = "config.json";
    private static final long MAX_CONFIG_BYTES = 64 << 20;

    private static final Pattern BIN = Pattern.compile("pytorch_model(-\\d+-of-\\d+)?\\.bin");
    private static final Pattern NUMBERED = Pattern.compile("(.*)-(\\d{1,9})-of-(\\d{1,9})\\.(safetensors|bin)");

    /** {@code rank0.pt}, {@code rank_0.pt}, {@code mp_rank_00.pt}, {@code NAME_rank0.pt}. */
    private static final Pattern RANK = Pattern.compile("(?:.*[._-])?rank_?(\\d{1,6})\\.(?:pt|pth|bin)");

    /** {@code NAME.tp0-of-4.pt}. */
    private static final Pattern RANK_OF = Pattern.compile("(?:.*[._-])?tp(\\d{1,6})-of-(\\d{1,6})\\.(?:pt|pth|bin)");

    private static final JsonFactory JSON = JsonFactory.builder()
            .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
            .build();

    private final FolderListing folder;

    WeightFolder(FolderListing folder) {
        this.folder = folder;
    }

    /** The folder as mamba_ssm's: rank files, or a config of its kind. */
    Optional<CheckpointLocation> mambaSsm() throws IOException {
        Optional<Path> config = config();
        List<Path> ranks = ranks();
        if (!ranks.isEmpty()) {
            return Optional.of(new MambaSsm(folder.folder(), config, ranks));
        }
        if (config.isPresent() && isMambaSsm(config.get()) && folder.isFile("pytorch_model.bin")) {
            return Optional.of(new MambaSsm(folder.folder(), config, List.of(folder.inside("pytorch_model.bin"))));
        }
        return Optional.empty();
    }

    /** The folder as Hugging Face's. */
    Optional<CheckpointLocation> huggingFace() throws IOException {
        List<Path> safetensors = files(SafetensorsIndex.SAFETENSORS_NAME, Pattern.compile(".*\\.safetensors"));
        List<Path> bin = files(SafetensorsIndex.BIN_NAME, BIN);
        if (safetensors.isEmpty() && bin.isEmpty()) {
            return Optional.empty();
        }
        boolean preferred = !safetensors.isEmpty();
        return Optional.of(new HuggingFace(
                folder.folder(),
                config(),
                preferred ? WeightFormat.SAFETENSORS : WeightFormat.BIN,
                file(preferred ? SafetensorsIndex.SAFETENSORS_NAME : SafetensorsIndex.BIN_NAME),
                preferred ? safetensors : bin,
                preferred ? bin : List.of()));
    }

    private Optional<Path> config() throws IOException {
        return file(CONFIG);
    }

    private Optional<Path> file(String name) throws IOException {
        return folder.isFile(name) ? Optional.of(folder.inside(name)) : Optional.empty();
    }

    /** The files of an index that are there, or without one all of the pattern. */
    private List<Path> files(String indexName, Pattern pattern) throws IOException {
        List<Path> files = new ArrayList<>();
        if (folder.isFile(indexName)) {
            Path index = folder.inside(indexName);
            byte[] text = Files.readAllBytes(index);
            for (String name :
                    SafetensorsIndex.read(ByteSource.of(index.toString(), text)).files()) {
                if (folder.isFile(name)) {
                    files.add(folder.inside(name));
                }
            }
            return files;
        }
        List<String> names = folder.names().stream()
                .filter(name -> pattern.matcher(name).matches() && folder.isFile(name))
                .toList();
        requireAllNumbers(names);
        for (String name : names) {
            files.add(folder.inside(name));
        }
        return files;
    }

    /** Without an index only the names tell that a file is missing. */
    private void requireAllNumbers(List<String> names) throws CheckpointException {
        Set<String> there = new HashSet<>(names);
        List<String> missing = new ArrayList<>();
        for (String name : names) {
            Matcher match = NUMBERED.matcher(name);
            if (match.matches()) {
                int count = Integer.parseInt(match.group(3));
                for (int i = 1; i <= count && missing.size() < 100; i++) {
                    String digits = String.format("%0" + match.group(2).length() + "d", i);
                    String other = match.group(1) + "-" + digits + "-of-" + match.group(3) + "." + match.group(4);
                    if (there.add(other)) {
                        missing.add(other);
                    }
                }
            }
        }
        if (!missing.isEmpty()) {
            throw CheckpointException.of(
                    CheckpointException.Kind.INCOMPLETE,
                    folder.folder().toString(),
                    "files are missing: " + FolderListing.some(missing));
        }
    }

    private List<Path> ranks() throws IOException {
        TreeMap<Integer, String> byRank = new TreeMap<>();
        OptionalInt world = OptionalInt.empty();
        for (String name : folder.names()) {
            Matcher of = RANK_OF.matcher(name);
            Matcher plain = RANK.matcher(name);
            boolean counted = of.matches();
            if (!folder.isFile(name) || !(counted || plain.matches())) {
                continue;
            }
            int rank = Integer.parseInt(counted ? of.group(1) : plain.group(1));
            if (counted) {
                int size = Integer.parseInt(of.group(2));
                if (world.isPresent() && world.getAsInt() != size) {
                    throw inconsistent("files of " + world.getAsInt() + " and of " + size + " ranks lie in one folder");
                }
                world = OptionalInt.of(size);
            }
            String other = byRank.putIfAbsent(rank, name);
            if (other != null) {
                throw inconsistent("the files " + other + " and " + name + " are of the same rank");
            }
        }
        int size = world.orElse(byRank.isEmpty() ? 0 : byRank.lastKey() + 1);
        List<Path> ranks = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
            if (!byRank.containsKey(rank)) {
                throw CheckpointException.of(
                        CheckpointException.Kind.INCOMPLETE,
                        folder.folder().toString(),
                        "the file of rank " + rank + " is missing; there are: "
                                + FolderListing.some(List.copyOf(byRank.values())));
            }
            ranks.add(folder.inside(byRank.get(rank)));
        }
        if (byRank.size() > size) {
            throw inconsistent("rank " + byRank.lastKey() + " does not exist among " + size + " ranks");
        }
        return ranks;
    }

    /** mamba_ssm's config has {@code d_model} and, other than that of transformers, no {@code model_type}. */
    private static boolean isMambaSsm(Path config) throws IOException {
        if (Files.size(config) > MAX_CONFIG_BYTES) {
            return false;
        }
        boolean dModel = false;
        boolean modelType = false;
        try (JsonParser json = JSON.createParser(Files.readAllBytes(config))) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                return false;
            }
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                dModel |= json.currentName().equals("d_model");
                modelType |= json.currentName().equals("model_type");
                json.nextToken();
                json.skipChildren();
            }
        } catch (JsonProcessingException e) {
            return false;
        }
        return dModel && !modelType;
    }

    private CheckpointException inconsistent(String problem) {
        return CheckpointException.of(
                CheckpointException.Kind.INCONSISTENT, folder.folder().toString(), problem);
    }
}
