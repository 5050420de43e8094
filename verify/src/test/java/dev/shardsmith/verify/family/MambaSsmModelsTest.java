package dev.shardsmith.verify.family;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.FilePool;
import dev.shardsmith.testdata.TestData;
import dev.shardsmith.verify.forward.CpuBackend;
import dev.shardsmith.verify.forward.LayeredModel;
import dev.shardsmith.verify.forward.NpyFile;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class MambaSsmModelsTest {

    /** The real class ran on a card with reduced-precision products, so the tolerance is theirs and not ours. */
    @ParameterizedTest
    @CsvSource({"mamba2_as_mamba_ssm, mamba2", "mamba2_tied_as_mamba_ssm, mamba2_tied"})
    void logitsAreThoseOfTheRealClass(String name, String inputs) throws Exception {
        Path folder = TestData.path("hf", name);
        NpyFile ids = NpyFile.read(TestData.path("hf", inputs, "input_ids.npy"));
        NpyFile expected = NpyFile.read(folder.resolve("logits_gpu_f32.npy"));
        int[] tokens = new int[ids.values().length];
        for (int i = 0; i < tokens.length; i++) {
            tokens[i] = (int) ids.values()[i];
        }
        try (FilePool pool = new FilePool()) {
            LayeredModel model = MambaSsmModels.of(
                    Folders.config(folder), List.of(Folders.torch(folder.resolve("pytorch_model.bin"), pool)));
            float[] logits = model.logits(
                    new CpuBackend(),
                    tokens,
                    ids.shape()[0],
                    ids.shape()[1],
                    (done, all) -> assertThat(done).isPositive());
            double worst = 0;
            double scale = 0;
            for (int i = 0; i < logits.length; i++) {
                worst = Math.max(worst, Math.abs(logits[i] - expected.values()[i]));
                scale = Math.max(scale, Math.abs(expected.values()[i]));
            }
            assertThat(logits).hasSize(expected.values().length);
            assertThat(worst / scale).isLessThan(1e-2);
        }
    }
}
