package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.dcp.DcpCheckpoint;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpenOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Opens a checkpoint of any layout as a model view. */
public final class Checkpoints {
    private static final Pattern RANK = Pattern.compile("mp_rank_(\\d{2,9})(?:_(\\d{3,9}))?(?:_(\\d{3,9}))?");

    private Checkpoints() {}

    /**
     * Opens what lies at a path; no tensor data is read.
     *
     * @throws CheckpointException if there is no checkpoint, or it is damaged or incomplete
     */
    public static ModelView open(Path path, OpenOptions options) throws IOException {
        FilePool pool = new FilePool();
        boolean opened = false;
        try {
            ModelView view = open(path, pool, options);
            opened = true;
            return view;
        } finally {
            if (!opened) {
                pool.close();
            }
        }
    }

    private static ModelView open(Path path, FilePool pool, OpenOptions options) throws IOException {
        Path tracker = path.resolve("latest_checkpointed_iteration.txt");
        Path folder = path;
        if (Files.exists(tracker)) {
            String text = Files.readString(tracker).strip();
            folder = path.resolve(text.equals("release") ? text : "iter_%07d".formatted(Long.parseLong(text)));
        }
        List<RankPath> ranks = rankFolders(folder);
        if (!ranks.isEmpty()) {
            return MegatronReader.read(path, folder, ranks, pool, options);
        }
        if (Files.exists(folder.resolve(DcpCheckpoint.METADATA))) {
            return TorchDistReader.read(path, folder, pool, options);
        }
        throw CheckpointException.of(Kind.UNSUPPORTED, path.toString(), "no checkpoint of a known layout is here");
    }

    private static List<RankPath> rankFolders(Path folder) throws IOException {
        List<RankPath> ranks = new ArrayList<>();
        try (Stream<Path> entries = Files.list(folder)) {
            for (Path entry : entries.sorted().toList()) {
                Matcher matcher = RANK.matcher(entry.getFileName().toString());
                if (matcher.matches()) {
                    List<Integer> numbers = new ArrayList<>();
                    for (int group = 1; group <= 3; group++) {
                        if (matcher.group(group) != null) {
                            numbers.add(Integer.parseInt(matcher.group(group)));
                        }
                    }
                    ranks.add(new RankPath(
                            entry.getFileName().toString(),
                            numbers.stream().mapToInt(Integer::intValue).toArray(),
                            entry.resolve("model_optim_rng.pt")));
                }
            }
        }
        return ranks;
    }
}
