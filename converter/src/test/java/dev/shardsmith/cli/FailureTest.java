package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.gpu.GpuFailure;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

final class FailureTest {
    @ParameterizedTest
    @CsvSource({
        "MALFORMED, 3",
        "TRUNCATED, 3",
        "UNSAFE, 3",
        "UNSUPPORTED, 3",
        "INCOMPLETE, 3",
        "LIMIT, 3",
        "INCONSISTENT, 3",
        "REFUSED, 2",
        "ENVIRONMENT, 4"
    })
    void checkpointErrorsEndWithTheCodeOfTheirKind(CheckpointException.Kind kind, int code) {
        Failure failure = Failure.of(CheckpointException.of(kind, "model.pt at byte 7", "the pickle ends early"));

        assertThat(failure.code().code()).isEqualTo(code);
        assertThat(failure.kind()).isEqualToIgnoringCase(kind.name());
        assertThat(failure.message()).isEqualTo("the pickle ends early\n  at: model.pt at byte 7");
    }

    @ParameterizedTest
    @EnumSource(CheckpointException.Kind.class)
    void aMessageIsAtMostFourLines(CheckpointException.Kind kind) {
        Failure failure = Failure.of(
                CheckpointException.of(kind, "here", "one\ntwo\nthree\nfour").withHint("five"));

        assertThat(failure.message().lines()).hasSize(4);
    }

    @Test
    void fileSystemTroubleIsTheEnvironmentButAMissingFileIsTheInput() {
        assertThat(Failure.of(new FileSystemException("/full", null, "No space left on device")))
                .isEqualTo(new Failure(ExitCode.ENVIRONMENT, "environment", "/full: No space left on device"));
        assertThat(Failure.of(new AccessDeniedException("/read-only")).code()).isEqualTo(ExitCode.ENVIRONMENT);
        assertThat(Failure.of(new GpuFailure(
                        CheckpointException.of(CheckpointException.Kind.ENVIRONMENT, "CUDA driver", "cuInit failed"))))
                .isEqualTo(new Failure(ExitCode.ENVIRONMENT, "environment", "cuInit failed\n  at: CUDA driver"));
        assertThat(Failure.of(new IOException("broken")).code()).isEqualTo(ExitCode.ENVIRONMENT);
        assertThat(Failure.of(new NoSuchFileException("/nowhere")))
                .isEqualTo(new Failure(ExitCode.INPUT, "incomplete", "no such file: /nowhere"));
    }

    @Test
    void uncheckedWrappersAreLookedThrough() {
        Failure failure = Failure.of(new UncheckedIOException(CheckpointException.malformed("a.pt", 3, "bad")));

        assertThat(failure.code()).isEqualTo(ExitCode.INPUT);
    }

    @Test
    void aHeapThatIsTooSmallSaysHowToEnlargeIt() {
        Failure failure = Failure.of(new OutOfMemoryError("Java heap space"));

        assertThat(failure.code()).isEqualTo(ExitCode.ENVIRONMENT);
        assertThat(failure.message()).contains("SHARDSMITH_JAVA_OPTS=-Xmx");
    }

    @Test
    void anythingElseIsOurFaultAndSaysSo() {
        Failure failure = Failure.of(new IllegalStateException("impossible"));

        assertThat(failure.code().code()).isEqualTo(70);
        assertThat(failure.message())
                .contains("not of your files")
                .contains("IllegalStateException: impossible")
                .contains("--debug");
    }
}
