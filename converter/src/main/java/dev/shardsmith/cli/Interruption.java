package dev.shardsmith.cli;

import dev.shardsmith.reshard.execute.PlanExecutor;
import java.nio.file.Files;
import java.nio.file.Path;

/** Tells a user who stops a conversion that what is done is kept, while the process ends. */
final class Interruption implements AutoCloseable {
    private final Out out;
    private final Path partial;
    private final Thread hook = new Thread(this::tell, "interruption");

    private Interruption(Out out, Path partial) {
        this.out = out;
        this.partial = partial;
    }

    /** Watches over the writing of a destination until it is closed. */
    static Interruption of(Path destination, Out out) {
        Interruption watch = new Interruption(out, PlanExecutor.partial(destination));
        Runtime.getRuntime().addShutdownHook(watch.hook);
        return watch;
    }

    /** Says where the unfinished target is and how it is finished. */
    void tell() {
        if (Files.exists(partial)) {
            out.note("\ninterrupted: nothing is at the destination yet; what is done is kept in " + partial
                    + "\n  try: the same command with --resume goes on; delete that folder to give up");
        }
    }

    @Override
    public void close() {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException ending) {
            // The process is ending, and the hook has its say.
        }
    }
}
