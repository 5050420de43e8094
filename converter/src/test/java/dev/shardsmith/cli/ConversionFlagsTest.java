package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.Fill;
import dev.shardsmith.reshard.view.ModelView.Layout;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class ConversionFlagsTest {
    @Test
    void withoutOptionsEverythingStays() throws Exception {
        assertThat(read()).isEqualTo(ConversionOptions.none());
    }

    @Test
    void everyOptionReachesItsField() throws Exception {
        ConversionOptions options =
                read(("--to huggingface --tp 4 --pp 2 --vpp 3 --ep 5 --etp 6 --pattern M|M --pp-layers 1,0,2"
                                + " --vocab-size 101 --pad-vocab-to 128 --pad-fill repeat-last --dtype bf16"
                                + " --optimizer drop --extra-state empty --conv1d-naming new --tie materialise"
                                + " --max-shard-size 4G --reset-iterations --set seed=1 --set name=a=b"
                                + " --rule *.x=column --rule *.y=replicate --allow-missing mtp.* --drop-layers E-")
                        .split(" "));

        assertThat(options.to()).contains(Layout.HUGGINGFACE);
        assertThat(options.tensor()).hasValue(4);
        assertThat(options.pipeline()).hasValue(2);
        assertThat(options.virtual()).hasValue(3);
        assertThat(options.expert()).hasValue(5);
        assertThat(options.expertTensor()).hasValue(6);
        assertThat(options.pattern()).contains("M|M");
        assertThat(options.pipelineLayers()).containsExactly(1, 0, 2);
        assertThat(options.vocabulary()).hasValue(101);
        assertThat(options.padVocabularyTo()).hasValue(128);
        assertThat(options.padFill()).isEqualTo(Fill.Mode.REPEAT_LAST);
        assertThat(options.dtype()).contains(DType.BF16);
        assertThat(options.optimizer()).isEqualTo(ConversionOptions.Keep.DROP);
        assertThat(options.extraState()).isEqualTo(ConversionOptions.Keep.EMPTY);
        assertThat(options.convNaming()).isEqualTo(ConversionOptions.ConvNaming.NEW);
        assertThat(options.tie()).isEqualTo(ConversionOptions.Tie.MATERIALISE);
        assertThat(options.maxShardSize()).hasValue(4L << 30);
        assertThat(options.resetIterations()).isTrue();
        assertThat(options.set()).containsEntry("seed", "1").containsEntry("name", "a=b");
        assertThat(options.rules()).hasSize(2);
        assertThat(options.rules().get(0).names().matches("a.x")).isTrue();
        assertThat(options.allowMissing().get(0).matches("mtp.0.w")).isTrue();
        assertThat(options.dropLayers()).isEqualTo("E-");
    }

    @Test
    void strippingAndPaddingTheVocabularyContradictEachOther() throws Exception {
        assertThat(read("--strip-padding").stripPadding()).isTrue();
        assertThatThrownBy(() -> read("--strip-padding", "--pad-vocab-to", "128"))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("contradict");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--to tf",
                "--tp 0",
                "--tp -2",
                "--tp 1.5",
                "--pp-layers 1;2",
                "--pad-fill noise",
                "--dtype fp8",
                "--optimizer empty",
                "--extra-state some",
                "--conv1d-naming newest",
                "--tie yes",
                "--max-shard-size 0",
                "--max-shard-size big",
                "--set seed",
                "--set =1",
                "--drop-layers X",
            })
    void valuesOutOfRangeAreRefusedByName(String words) {
        assertThatThrownBy(() -> read(words.split(" ")))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining(words.split(" ")[0])
                .hasMessageContaining(words.split(" ")[1]);
    }

    @Test
    void aRuleOfAnotherFormIsRefused() {
        assertThatThrownBy(() -> read("--rule", "*.x=diagonal")).isInstanceOf(CheckpointException.class);
    }

    private static ConversionOptions read(String... words) throws Exception {
        Options options = new Options();
        ConversionFlags.ALL.forEach(options::addOption);
        Opening.FLAGS.forEach(options::addOption);
        try {
            return ConversionFlags.read(new Arguments(new DefaultParser().parse(options, words)));
        } catch (ParseException unparsable) {
            throw new AssertionError(unparsable);
        }
    }
}
