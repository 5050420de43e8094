package dev.shardsmith.formats.layout;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.layout.CheckpointLocation.HuggingFace;
import dev.shardsmith.formats.layout.CheckpointLocation.Index;
import dev.shardsmith.formats.layout.CheckpointLocation.MambaSsm;
import dev.shardsmith.formats.layout.CheckpointLocation.Naming;
import dev.shardsmith.formats.layout.CheckpointLocation.WeightFormat;
import dev.shardsmith.formats.safetensors.SafetensorsIndex;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Folders of plain weight files: Hugging Face's and mamba_ssm's. */
final class WeightFolder {
    private static final String CONFIG = "config.json";
    private static final String MODEL = "pytorch_model.bin";
    private static final long MAX_CONFIG_BYTES = 64 << 20;

    private static final Pattern BIN = Pattern.compile("pytorch_model(-\\d+-of-\\d+)?\\.bin");
    private static final Pattern NUMBERED = Pattern.compile("(.*)-(\\d{1,9})-of-(\\d{1,9})\\.(safetensors|bin)");

    private static final JsonFactory JSON = JsonFactory.builder()
            .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
            .build();

    private final FolderListing folder;

    WeightFolder(FolderListing folder) {
        this.folder = folder;
    }

    /**
     * The folder as mamba_ssm's: rank files, or a config of its kind.
     *
     * @param pattern how the user says that rank files are named
     */
    Optional<CheckpointLocation> mambaSsm(Optional<RankPattern> pattern) throws IOException {
        RankFiles ranks = new RankFiles(folder);
        if (pattern.isPresent()) {
            return Optional.of(ranks(ranks.asked(pattern.get())));
        }
        Optional<RankFiles.Found> worded = ranks.worded();
        if (worded.isPresent()) {
            return Optional.of(ranks(worded.get()));
        }
        Optional<Path> config = config();
        if (config.isPresent() && isMambaSsm(config.get())) {
            if (folder.isFile(MODEL)) {
                return Optional.of(MambaSsm.whole(folder.folder(), config, List.of(folder.inside(MODEL))));
            }
            Optional<RankFiles.Found> numbered = ranks.numbered();
            if (numbered.isPresent()) {
                return Optional.of(numbered(numbered.get()));
            }
            Optional<HuggingFace> files = weights();
            if (files.isPresent()) {
                return Optional.of(
                        MambaSsm.whole(folder.folder(), config, files.get().weights()));
            }
        }
        return Optional.empty();
    }

    /** Files that are numbered like ranks, where names and config do not tell what they are. */
    Optional<CheckpointLocation> numbered() throws IOException {
        Optional<RankFiles.Found> found = new RankFiles(folder).numbered();
        return found.isPresent() ? Optional.of(numbered(found.get())) : Optional.empty();
    }

    private MambaSsm ranks(RankFiles.Found found) throws IOException {
        return new MambaSsm(
                folder.folder(),
                config(),
                found.files().stream().map(List::of).toList(),
                found.pattern(),
                Naming.RANKS);
    }

    private MambaSsm numbered(RankFiles.Found found) throws IOException {
        return new MambaSsm(
                folder.folder(),
                config(),
                found.files().stream().map(List::of).toList(),
                found.pattern(),
                Naming.NUMBERS);
    }

    /** The folder as Hugging Face's. */
    Optional<CheckpointLocation> huggingFace() throws IOException {
        Optional<HuggingFace> weights = weights();
        return weights.isPresent() ? Optional.of(weights.get()) : Optional.empty();
    }

    private Optional<HuggingFace> weights() throws IOException {
        Optional<Index> safetensorsIndex = index(SafetensorsIndex.SAFETENSORS_NAME);
        Optional<Index> binIndex = index(SafetensorsIndex.BIN_NAME);
        List<Path> safetensors = files(safetensorsIndex, Pattern.compile(".*\\.safetensors"));
        List<Path> bin = files(binIndex, BIN);
        if (safetensors.isEmpty() && bin.isEmpty()) {
            return Optional.empty();
        }
        boolean preferred = !safetensors.isEmpty();
        return Optional.of(new HuggingFace(
                folder.folder(),
                config(),
                preferred ? WeightFormat.SAFETENSORS : WeightFormat.BIN,
                preferred ? safetensorsIndex : binIndex,
                preferred ? safetensors : bin,
                preferred ? bin : List.of()));
    }

    private Optional<Path> config() throws IOException {
        return file(CONFIG);
    }

    private Optional<Path> file(String name) throws IOException {
        return folder.isFile(name) ? Optional.of(folder.inside(name)) : Optional.empty();
    }

    private Optional<Index> index(String name) throws IOException {
        if (!folder.isFile(name)) {
            return Optional.empty();
        }
        Path file = folder.inside(name);
        ByteSource text = ByteSource.of(file.toString(), Files.readAllBytes(file));
        return Optional.of(new Index(file, SafetensorsIndex.read(text)));
    }

    /** The files of an index that are there, or without one all of the pattern. */
    private List<Path> files(Optional<Index> index, Pattern pattern) throws IOException {
        List<Path> files = new ArrayList<>();
        if (index.isPresent()) {
            for (String name : index.get().content().files()) {
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
}
