package dev.shardsmith.verify.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.testdata.Cases;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LaunchScriptTest {
    private static LaunchScript parse(String text) throws CheckpointException {
        return LaunchScript.parse("train.sh", text, Map.of());
    }

    private static String value(LaunchScript script, String option) {
        return script.option(option)
                .orElseThrow(() -> new AssertionError("no " + option))
                .value();
    }

    static String twoSizes() throws Exception {
        try (InputStream in = LaunchScriptTest.class.getResourceAsStream("two-sizes.sh")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    @Test
    void theBranchOfACaseIsTakenThatItsVariableSays() throws Exception {
        LaunchScript script = parse(twoSizes());
        assertThat(script.program()).isEqualTo("../../pretrain_mamba.py");
        assertThat(script.sure()).isTrue();
        assertThat(script.processes()).hasValue(8);
        assertThat(value(script, "--num-layers")).isEqualTo("48");
        assertThat(value(script, "--hidden-size")).isEqualTo("1024");
        assertThat(value(script, "--tensor-model-parallel-size")).isEqualTo("1");
        assertThat(value(script, "--train-samples")).isEqualTo("409596");
        assertThat(script.option("--sequence-parallel").orElseThrow().values()).isEmpty();
        assertThat(script.option("--spec").orElseThrow().values())
                .containsExactly("megatron.core.models.mamba.mamba_layer_specs", "mamba_stack_spec");
        assertThat(value(script, "--data-path")).isEqualTo("${1}");
        assertThat(script.option("--data-path").orElseThrow().unresolved()).containsExactly("${1}");
        assertThat(script.loose()).isEmpty();
        assertThat(script.remarks()).isEmpty();
    }

    @Test
    void aGivenVariableWinsOverTheScripts() throws Exception {
        LaunchScript script = LaunchScript.parse("train.sh", twoSizes(), Map.of("MODEL_SCALE", "8B"));
        assertThat(value(script, "--num-layers")).isEqualTo("56");
        assertThat(value(script, "--tensor-model-parallel-size")).isEqualTo("4");
        assertThat(value(script, "--num-attention-heads")).isEqualTo("32");
    }

    @Test
    void anOptionNamesItsLineEvenInsideALongText() throws Exception {
        LaunchScript script = parse(twoSizes());
        assertThat(script.option("--num-layers").orElseThrow().line()).isEqualTo(40);
        assertThat(script.option("--bf16").orElseThrow().line()).isEqualTo(60);
    }

    @Test
    void arraysQuotesAndContinuationsAreRead() throws Exception {
        LaunchScript script = parse("""
                set -euo pipefail
                GPUS=8; NODES=2
                MODEL_ARGS=(
                    --num-layers 4      # a comment inside
                    --hybrid-layer-pattern "M-|M*"
                    --hidden-size=64
                )
                MODEL_ARGS+=( --swiglu )
                EXTRA="--tokenizer-prompt 'x y'"
                torchrun --nproc-per-node=$GPUS --nnodes "$NODES" \\
                    pretrain_hybrid.py \\
                    "${MODEL_ARGS[@]}" \\
                    --log-dir 'a b' --lr 1e-4 --weight -0.5 \\
                    ${EXTRA}
                """);
        assertThat(value(script, "--hybrid-layer-pattern")).isEqualTo("M-|M*");
        assertThat(script.option("--hybrid-layer-pattern").orElseThrow().line()).isEqualTo(5);
        assertThat(script.option("--hybrid-layer-pattern").orElseThrow().glob()).isFalse();
        assertThat(value(script, "--hidden-size")).isEqualTo("64");
        assertThat(script.option("--swiglu")).isPresent();
        assertThat(script.option("--log-dir").orElseThrow().values()).containsExactly("a b");
        assertThat(value(script, "--weight")).isEqualTo("-0.5");
        assertThat(script.option("--tokenizer-prompt").orElseThrow().values()).containsExactly("'x", "y'");
        assertThat(script.processes()).hasValue(16);
    }

    @Test
    void defaultsAndAlternativesAreUsedWhereTheyDecide() throws Exception {
        LaunchScript script = parse("""
                TP=${TP:-2}
                if [ "$TP" -gt 1 ]; then SP="--sequence-parallel"; else SP=""; fi
                [[ $TP == 2 && -n "$SP" ]] && MORE="--num-layers 8" || MORE="--num-layers 9"
                python pretrain.py --tensor-model-parallel-size $TP $SP $MORE ${DEBUG:+--debug}
                """);
        assertThat(value(script, "--tensor-model-parallel-size")).isEqualTo("2");
        assertThat(script.option("--sequence-parallel")).isPresent();
        assertThat(value(script, "--num-layers")).isEqualTo("8");
        assertThat(script.option("--debug")).isEmpty();
    }

    @Test
    void whatDependsOnTheEnvironmentIsNamed() throws Exception {
        LaunchScript script = parse("""
                if [ -f /etc/big ]; then LAYERS=56; else LAYERS=48; fi
                HASH=$(git rev-parse HEAD)
                if [ -z "$1" ]; then echo usage; exit 1; fi
                python pretrain.py --num-layers $LAYERS --tag run-$HASH --width $((W * 2)) --swiglu --bf16 x $EXTRA
                """);
        assertThat(script.option("--num-layers").orElseThrow().unresolved()).containsExactly("${LAYERS}");
        assertThat(value(script, "--tag")).isEqualTo("run-$(git rev-parse HEAD)");
        assertThat(value(script, "--width")).isEqualTo("$((W * 2))");
        assertThat(script.loose()).containsExactly("EXTRA");
        assertThat(script.sure()).isTrue();
    }

    @Test
    void functionsNestedShellsAndSchedulersAreFollowed() throws Exception {
        assertThat(value(parse("""
                        launch() { python "$1" --num-layers 3; }
                        launch pretrain.py
                        """), "--num-layers")).isEqualTo("3");
        assertThat(value(parse("""
                        ARGS="--num-layers 5"
                        srun -N 4 bash -c "cd work; python -u pretrain_mamba.py ${ARGS}"
                        """), "--num-layers")).isEqualTo("5");
        assertThat(value(parse("""
                        cat > config <<EOF
                        python wrong.py --num-layers 7 --a --b --c
                        EOF
                        CMD="python pretrain.py --num-layers 6"
                        eval $CMD
                        """), "--num-layers")).isEqualTo("6");
    }

    @Test
    void aPlainListOfOptionsIsEnough() throws Exception {
        LaunchScript script = parse("# of the 8B model\n--num-layers 56\n--hidden-size 4096 --swiglu\n");
        assertThat(script.program()).isEmpty();
        assertThat(script.options())
                .extracting(LaunchOption::name)
                .containsExactly("--num-layers", "--hidden-size", "--swiglu");
        assertThat(script.option("--hidden-size").orElseThrow().line()).isEqualTo(3);
    }

    @Test
    void commonSlipsAreRemarkedOn() throws Exception {
        assertThat(parse("python pretrain.py --num-layers 2 \\ \n  --swiglu\n").remarks())
                .extracting(ScriptRemark::message)
                .anyMatch(text -> text.contains("blank after \\"))
                .anyMatch(text -> text.contains("--swiglu starts a command of its own"));
        assertThat(parse("python pretrain.py --hybrid-layer-pattern M-|M-M\n").remarks())
                .extracting(ScriptRemark::message)
                .containsExactly("an unquoted | ends the command; a pattern with | must stand in quotes");
        assertThat(parse("python pretrain.py --hybrid-layer-pattern M-M*\n")
                        .option("--hybrid-layer-pattern")
                        .orElseThrow()
                        .glob())
                .isTrue();
        assertThat(parse("python pretrain.py --swiglu\r\n").remarks().get(0).message())
                .contains("CR LF");
        assertThat(parse("source env.sh\npython pretrain.py --swiglu\n")
                        .remarks()
                        .get(0)
                        .message())
                .contains("env.sh is not read");
    }

    @Test
    void theLastOfEqualOptionsCounts() throws Exception {
        LaunchScript script = parse("python pretrain.py --num-layers 2 --num-layers 3");
        assertThat(value(script, "--num-layers")).isEqualTo("3");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "echo nothing here",
                "python pretrain.py --name 'never closed",
                "python pretrain.py \"never closed",
                "X=${never",
                "X=$(never",
                "if true; then python pretrain.py --a",
                "A=( --pattern M|M )",
                "case x in a) ;;",
                "f() { f; }; f",
                "X=a; " + "for i in 1; do X=$X$X; done"
            })
    void whatIsNoScriptIsRefused(String text) {
        assertThatThrownBy(() -> parse(text)).isInstanceOf(CheckpointException.class);
    }

    @Test
    void aValueThatDoublesItselfIsStopped() {
        String text = "X=aaaaaaaaaaaaaaaa\n" + "X=$X$X\n".repeat(40) + "python pretrain.py --a $X";
        assertThatThrownBy(() -> parse(text)).hasMessageContaining("longer than");
    }

    @Test
    void anyTextGivesOptionsOrARefusal() {
        List<String> pieces = List.of(
                "python a.py",
                " --x",
                " 1",
                "\n",
                ";",
                "\"",
                "'",
                "$",
                "${",
                "}",
                "(",
                ")",
                "A=",
                "$A",
                "$(",
                "`",
                "\\",
                "if ",
                "then ",
                "fi",
                "case ",
                "esac",
                " in ",
                "|",
                "&&",
                "[",
                "[[ ",
                "]]",
                "<<E",
                "{",
                "do ",
                "done",
                "for ",
                "!",
                "#",
                "((",
                "))");
        Cases.forAll(5000, random -> {
            StringBuilder text = new StringBuilder();
            int count = random.nextInt(25);
            for (int i = 0; i < count; i++) {
                text.append(pieces.get(random.nextInt(pieces.size())));
            }
            try {
                parse(text.toString());
            } catch (CheckpointException expected) {
                assertThat(expected.kind()).isEqualTo(CheckpointException.Kind.REFUSED);
            }
        });
    }
}
