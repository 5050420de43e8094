package dev.shardsmith.verify.diff;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.reshard.state.ExtraState;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelViewBuilder;
import dev.shardsmith.verify.diff.TensorDiff.Status;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

final class LayerAlignmentTest {
    private static final String QKV = ".self_attention.linear_qkv.weight";
    private static final String UP = ".mlp.linear_fc1.weight";
    private static final String MAMBA = ".mixer.A_log";

    private static ModelViewBuilder model() {
        return new ModelViewBuilder(Path.of("memory"), new FilePool(), ModelView.Layout.PT)
                .family(ModelView.Family.MEGATRON);
    }

    private static LogicalTensor tensor(String name, int value) throws IOException {
        byte[] bytes = {(byte) value, 0, 0x40, 0x40};
        return LogicalTensor.whole(
                name, StoredTensor.contiguous(name, DType.F32, Shape.of(1), ByteSource.of(name, bytes), 0));
    }

    private static LogicalTensor layer(int number, String suffix, int value) throws IOException {
        return tensor("decoder.layers." + number + suffix, value);
    }

    private static ModelViewBuilder transformer() throws IOException {
        return model().add(layer(0, QKV, 1))
                .add(layer(0, UP, 2))
                .add(layer(1, QKV, 3))
                .add(layer(1, UP, 4))
                .add(tensor("decoder.final_layernorm.weight", 5));
    }

    private static ModelViewBuilder hybrid() throws IOException {
        return model().add(layer(0, QKV, 1))
                .add(layer(1, UP, 2))
                .add(layer(2, QKV, 3))
                .add(layer(3, UP, 4))
                .add(tensor("decoder.final_norm.weight", 5));
    }

    private static DiffResult diff(ModelView left, ModelView right) throws IOException {
        return new CheckpointDiff(DiffOptions.exact(), done -> {}).compare(left, right);
    }

    @Test
    void transformerIsTheSameAsTheHybridModelOfItsParts() throws IOException {
        DiffResult there = diff(transformer().build(), hybrid().build());
        DiffResult back = diff(hybrid().build(), transformer().build());

        assertThat(there.tensors())
                .extracting(TensorDiff::status)
                .containsOnly(Status.SAME)
                .hasSize(5);
        assertThat(there.tensors().get(3).name()).isEqualTo("decoder.layers.1.mlp.linear_fc1.weight");
        assertThat(there.tensors().get(3).newName()).contains("decoder.layers.3.mlp.linear_fc1.weight");
        assertThat(there.notes()).singleElement().asString().contains("in 2 layers of A and in 4 of B");
        assertThat(back.same()).isTrue();
        assertThat(back.tensors()).hasSize(5);
    }

    @Test
    void aDifferenceIsFoundInTheAlignedLayer() throws IOException {
        ModelView changed = model().add(layer(0, QKV, 1))
                .add(layer(1, UP, 2))
                .add(layer(2, QKV, 9))
                .add(layer(3, UP, 4))
                .add(tensor("decoder.final_norm.weight", 5))
                .build();

        DiffResult result = diff(transformer().build(), changed);

        assertThat(result.count(Status.DIFFERENT)).isEqualTo(1);
        assertThat(result.tensors().get(2).name()).isEqualTo("decoder.layers.1" + QKV);
        assertThat(result.tensors().get(2).status()).isEqualTo(Status.DIFFERENT);
    }

    @Test
    void partsThatOneSideDoesNotHaveAreMissingOrExtra() throws IOException {
        ModelView mixed = model().add(layer(0, MAMBA, 8))
                .add(layer(1, QKV, 1))
                .add(layer(2, UP, 2))
                .add(layer(3, MAMBA, 9))
                .add(layer(4, QKV, 3))
                .add(layer(5, UP, 4))
                .add(tensor("decoder.final_norm.weight", 5))
                .build();

        DiffResult missing = diff(mixed, hybrid().build());
        DiffResult extra = diff(transformer().build(), mixed);

        assertThat(missing.count(Status.SAME)).isEqualTo(5);
        assertThat(missing.count(Status.MISSING)).isEqualTo(2);
        assertThat(extra.count(Status.SAME)).isEqualTo(5);
        assertThat(extra.tensors())
                .filteredOn(found -> found.status() == Status.EXTRA)
                .extracting(TensorDiff::name)
                .containsExactly("decoder.layers.0" + MAMBA, "decoder.layers.3" + MAMBA);
    }

    @Test
    void partsInAnotherOrderAreNotTakenForEachOther() throws IOException {
        ModelView attentionFirst =
                model().add(layer(0, QKV, 1)).add(layer(1, UP, 2)).build();
        ModelView attentionLast =
                model().add(layer(0, UP, 2)).add(layer(1, QKV, 1)).build();

        DiffResult result = diff(attentionFirst, attentionLast);

        assertThat(result.same()).isFalse();
        assertThat(result.notes()).isEmpty();
    }

    @Test
    void moduleStatesThatDifferAreNamed() throws IOException {
        String name = "decoder.layers.1.mlp.linear_fc1._extra_state";
        ModelView left = transformer()
                .addExtraState(new ExtraState(name, new PyStr("old"), Optional.empty()))
                .build();
        ModelView right = hybrid().addExtraState(
                        new ExtraState(name.replace("1.mlp", "3.mlp"), new PyStr("new"), Optional.empty()))
                .build();

        assertThat(diff(left, right).state()).isEqualTo(List.of(new StateDifference(name, "'old'", "'new'")));
        assertThat(diff(left, left).state()).isEmpty();
    }
}
