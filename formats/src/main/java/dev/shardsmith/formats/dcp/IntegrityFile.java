package dev.shardsmith.formats.dcp;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.dcp.DcpFinding.Code;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** Megatron's {@code integrity.json}: the SHA-256 of each file of a checkpoint's folder. */
public final class IntegrityFile {
    /** The file's name. */
    public static final String FILE = "integrity.json";

    private static final int MAX_BYTES = 64 << 20;
    private static final int BLOCK = 1 << 20;
    private static final JsonFactory JSON = new JsonFactory();

    private final Map<String, String> digests;

    private IntegrityFile(Map<String, String> digests) {
        this.digests = Collections.unmodifiableMap(digests);
    }

    /**
     * Reads the file of a folder, if it has one.
     *
     * @throws CheckpointException if it is malformed or its algorithm is not known
     */
    public static Optional<IntegrityFile> read(FilePool pool, Path folder) throws IOException {
        Path path = folder.resolve(FILE);
        if (!Files.isRegularFile(path)) {
            return Optional.empty();
        }
        ByteSource source = pool.file(path);
        if (source.size() > MAX_BYTES) {
            throw malformed(source.name(), "the file has " + source.size() + " bytes, above the limit of " + MAX_BYTES);
        }
        try (JsonParser json = JSON.createParser(source.readBytes(0, (int) source.size()))) {
            return Optional.of(new IntegrityFile(parse(source.name(), json)));
        } catch (JsonProcessingException e) {
            throw malformed(source.name(), "it is not valid JSON: " + e.getOriginalMessage())
                    .causedBy(e);
        }
    }

    private static Map<String, String> parse(String source, JsonParser json) throws IOException {
        Map<String, String> digests = new LinkedHashMap<>();
        String algorithm = "";
        if (json.nextToken() != JsonToken.START_OBJECT) {
            throw malformed(source, "it is not a JSON object");
        }
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            String field = json.currentName();
            JsonToken value = json.nextToken();
            if (field.equals("algorithm") && value == JsonToken.VALUE_STRING) {
                algorithm = json.getText();
            } else if (field.equals("files") && value == JsonToken.START_OBJECT) {
                while (json.nextToken() == JsonToken.FIELD_NAME) {
                    String name = json.currentName();
                    if (json.nextToken() != JsonToken.VALUE_STRING || name.contains("/") || name.contains("\\")) {
                        throw malformed(source, "the entry of '" + name + "' is no plain file name with a digest");
                    }
                    digests.put(name, json.getText().toLowerCase(Locale.ROOT));
                }
            } else {
                json.skipChildren();
            }
        }
        if (!algorithm.equals("sha256")) {
            throw CheckpointException.of(
                    CheckpointException.Kind.UNSUPPORTED,
                    source,
                    "the digests are of the algorithm '" + algorithm + "'; only sha256 is known");
        }
        return digests;
    }

    /** The digest of each file, in lower-case hexadecimal digits, in the order of the file. */
    public Map<String, String> digests() {
        return digests;
    }

    /** Reads every file of the folder that has a digest and compares; finds those that are missing or differ. */
    public List<DcpFinding> verify(FilePool pool, Path folder) throws IOException {
        List<DcpFinding> findings = new ArrayList<>();
        for (Map.Entry<String, String> entry : digests.entrySet()) {
            String name = entry.getKey();
            Path file = folder.resolve(name);
            if (!Files.isRegularFile(file)) {
                findings.add(new DcpFinding(Code.MISSING_FILE, name, FILE + " lists " + name + ", which is missing"));
            } else if (!sha256(pool.file(file)).equals(entry.getValue())) {
                findings.add(
                        new DcpFinding(Code.DAMAGED_FILE, name, name + " has another SHA-256 than " + FILE + " says"));
            }
        }
        return findings;
    }

    private static String sha256(ByteSource source) throws IOException {
        MessageDigest digest;
        try {
            digest = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
        ByteBuffer block = ByteBuffer.allocate(BLOCK);
        for (long at = 0; at < source.size(); at += BLOCK) {
            block.clear().limit((int) Math.min(BLOCK, source.size() - at));
            source.read(at, block);
            digest.update(block.flip());
        }
        return HexFormat.of().formatHex(digest.digest());
    }

    private static CheckpointException malformed(String source, String problem) {
        return CheckpointException.of(CheckpointException.Kind.MALFORMED, source, problem);
    }
}
