package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.TestData;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Options that would change nothing: those of another command are wrong usage, names of nothing are warned of. */
class OptionsWithoutEffectTest {
    private static final String SAMPLE =
            TestData.root().resolve("samples/hybrid-tp2-pp2").toString();

    @TempDir
    Path folder;

    @Test
    void optionsThatHaveNothingToActOnAreWrongUsage() {
        String target = folder.resolve("x").toString();
        CommandRun damaged = CommandRun.of("sample", target, "--pattern", "M", "--hidden", "64", "--damaged", "copy");
        CommandRun experts = CommandRun.of("convert", SAMPLE, target, "--tp", "1", "--etp", "2");
        CommandRun variable = CommandRun.of("validate", SAMPLE, "--env", "A=b");

        assertThat(damaged.exit()).isEqualTo(ExitCode.USAGE);
        assertThat(damaged.err()).contains("sample has no option '--damaged'");
        assertThat(experts.exit()).isEqualTo(ExitCode.USAGE);
        assertThat(experts.err()).contains("the model has no experts, so --etp 2 has nothing to divide");
        assertThat(variable.exit()).isEqualTo(ExitCode.USAGE);
        assertThat(variable.err()).contains("--env sets variables of a launch script; give --launch FILE");
    }

    @ParameterizedTest
    @CsvSource({
        "--allow-missing, x.*, --allow-missing 'x.*' matches nothing",
        "--rule, x.*=row, --rule 'x.*' matches nothing",
        "--set, hiden_size=4, did you mean hidden_size?"
    })
    void namesOfNothingInAConversionAreWarnedOf(String option, String value, String warning) {
        CommandRun run = CommandRun.of("convert", SAMPLE, folder.resolve("x").toString(), option, value);

        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        assertThat(run.err()).contains(warning).hasLineCount(1);
    }

    @Test
    void namesOfNothingInAComparisonAreWarnedOf() {
        CommandRun none = CommandRun.of("diff", SAMPLE, SAMPLE, "--ignore", "foo*");
        CommandRun some = CommandRun.of("diff", SAMPLE, SAMPLE, "--ignore", "*.mixer.*");
        CommandRun listed = CommandRun.of("inspect", SAMPLE, "--tensors", "foo*");

        assertThat(none.exit()).isEqualTo(ExitCode.OK);
        assertThat(none.err()).contains("--ignore 'foo*' matches nothing and has no effect");
        assertThat(some.err()).doesNotContain("matches nothing");
        assertThat(listed.err()).contains("--tensors 'foo*' matches nothing");
    }
}
