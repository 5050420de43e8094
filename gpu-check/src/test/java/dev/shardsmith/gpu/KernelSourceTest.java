package dev.shardsmith.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.TestData;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The committed images belong to the committed sources. */
final class KernelSourceTest {
    private static final Path MODULE = TestData.root().resolve("gpu-check");

    @Test
    void imagesWereBuiltFromTheseSources() throws Exception {
        StringBuilder hashes = new StringBuilder();
        for (Path source : sourcesAndImages()) {
            byte[] hash = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(source));
            hashes.append(HexFormat.of().formatHex(hash))
                    .append("  ")
                    .append(source.getFileName())
                    .append('\n');
        }
        Path recorded = MODULE.resolve("src/main/resources/dev/shardsmith/gpu/kernels.sha256");
        assertThat(Files.readString(recorded))
                .as("run gpu-check/build-kernels.sh after a change of a kernel")
                .isEqualTo(hashes.toString());
    }

    private static List<Path> sourcesAndImages() throws Exception {
        List<Path> all = new ArrayList<>(sources());
        for (KernelImage image : KernelImage.values()) {
            all.add(MODULE.resolve("src/main/resources/dev/shardsmith/gpu").resolve(image.resource()));
        }
        List<Path> images = all.subList(sources().size(), all.size());
        Collections.sort(images);
        return all;
    }

    private static List<Path> sources() throws Exception {
        try (Stream<Path> files = Files.list(MODULE.resolve("src/main/cuda"))) {
            return files.sorted().toList();
        }
    }

    @Test
    void machineCodeIsThatOfHopper() {
        byte[] code = KernelImage.SM90A_CODE.read();
        assertThat(code).startsWith(0x7f, 'E', 'L', 'F');
        String text = new String(code, StandardCharsets.ISO_8859_1);
        assertThat(PtxEntries.of(KernelImage.SM90A).names()).allMatch(name -> text.contains(".text." + name));
    }

    @Test
    void imagesAskForWhatTheyAreSaidToAskFor() {
        assertThat(text(KernelImage.COMPUTE80)).contains("\n.version 7.8\n.target sm_80\n");
        assertThat(text(KernelImage.SM90A)).contains("\n.version 8.0\n.target sm_90a\n");
    }

    @Test
    void hopperAloneHasTheWarpgroupKernels() {
        assertThat(PtxEntries.of(KernelImage.SM90A).names())
                .contains("hopper_decay", "hopper_states", "hopper_scan", "hopper_scan_gated")
                .containsAll(PtxEntries.of(KernelImage.COMPUTE80).names());
        assertThat(PtxEntries.of(KernelImage.COMPUTE80).names())
                .hasSizeGreaterThan(25)
                .noneMatch(name -> name.startsWith("hopper"));
        assertThat(text(KernelImage.SM90A)).contains("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16");
    }

    private static String text(KernelImage image) {
        return new String(image.read(), StandardCharsets.UTF_8);
    }
}
