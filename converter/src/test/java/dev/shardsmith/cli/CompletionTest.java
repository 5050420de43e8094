package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

final class CompletionTest {
    @TempDir
    Path folder;

    @ParameterizedTest
    @EnumSource(Shell.class)
    void everyCommandAndEveryOptionIsThere(Shell shell) {
        String script = String.join("\n", Completion.script(shell));

        for (Command command : Commands.all()) {
            assertThat(script).contains(command.name());
            for (var option : command.options().getOptions()) {
                assertThat(script).contains((shell == Shell.FISH ? "-l " : "--") + option.getLongOpt());
            }
        }
    }

    @Test
    void bashCompletesCommandsOptionsAndValues() throws Exception {
        assertThat(complete("shardsmith", "doc")).containsExactly("doctor");
        assertThat(complete("shardsmith", "doctor", "--js")).containsExactly("--json");
        assertThat(complete("shardsmith", "doctor", "--progress", "")).containsExactly("auto", "plain", "none");
        assertThat(complete("shardsmith", "completion", "z")).containsExactly("zsh");
        assertThat(complete("shardsmith", "help", "comp")).containsExactly("completion");
    }

    private List<String> complete(String... words) throws IOException, InterruptedException {
        StringBuilder script = new StringBuilder(String.join("\n", Completion.script(Shell.BASH)));
        script.append("\nCOMP_WORDS=(");
        for (String word : words) {
            script.append('\'').append(word).append("' ");
        }
        script.append(")\nCOMP_CWORD=").append(words.length - 1);
        script.append("\n_shardsmith\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n");
        Path file = Files.writeString(folder.resolve("complete.bash"), script);
        Process process = new ProcessBuilder("bash", file.toString())
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return output.lines().toList();
    }
}
