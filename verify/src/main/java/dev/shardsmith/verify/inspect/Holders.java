package dev.shardsmith.verify.inspect;

import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.region.Shares;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.RankShard;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** Which files of a checkpoint hold which part of its tensors, and of which ranks the files are. */
public final class Holders {
    private final Path root;
    private final Map<Path, RankShard> ranks = new LinkedHashMap<>();

    private Holders(Path root) {
        this.root = root;
    }

    /** The files of a checkpoint's ranks. */
    public static Holders of(ModelView view) throws IOException {
        Holders holders = new Holders(view.path().toAbsolutePath().normalize());
        if (view.ranks().size() > 1) {
            for (RankShard rank : view.ranks()) {
                for (LogicalTensor tensor : rank.tensors().values()) {
                    Optional<Path> file = tensor.pieces().stream()
                            .flatMap(piece -> file(piece).stream())
                            .findFirst();
                    if (file.isPresent()) {
                        holders.ranks.putIfAbsent(file.get(), rank);
                        break;
                    }
                }
            }
        }
        return holders;
    }

    /** What each file holds of a tensor, by its path inside the checkpoint. */
    public Shares of(LogicalTensor tensor) throws IOException {
        Shares.Builder shares = new Shares.Builder(tensor.shape());
        for (Piece piece : Stream.concat(tensor.pieces().stream(), tensor.replicas().stream())
                .toList()) {
            shares.add(file(piece).map(this::name).orElse(""), piece.box());
        }
        return shares.build();
    }

    /** True if the checkpoint has ranks. */
    public boolean hasRanks() {
        return !ranks.isEmpty();
    }

    /** The rank that a file is of. */
    public Optional<RankShard> rank(String file) {
        return ranks.entrySet().stream()
                .filter(entry -> name(entry.getKey()).equals(file))
                .map(Map.Entry::getValue)
                .findFirst();
    }

    /**
     * A tensor's divided dimension in a few characters: each stands for an equal share of it and is the number of the
     * tensor-parallel rank that holds it, {@code =} where several do.
     */
    public String bar(Shares shares, int most) {
        if (!hasRanks()) {
            return "";
        }
        if (shares.axis().isEmpty()) {
            List<String> files = List.copyOf(shares.boxes().keySet());
            return shares.whole() && files.size() > 1
                    ? "="
                    : files.size() == 1 ? String.valueOf(digit(files.get(0))) : "mixed";
        }
        long length = shares.shape().size(shares.axis().getAsInt());
        int cells = (int) Math.min(most, length);
        StringBuilder bar = new StringBuilder();
        for (int cell = 0; cell < cells; cell++) {
            // The middle of the cell; cells and lengths are far below where this could overflow.
            long at = (long) ((cell + 0.5) * length / cells);
            List<String> files = shares.holders(Math.min(at, length - 1));
            boolean one = files.stream().map(this::digit).distinct().count() == 1;
            bar.append(files.isEmpty() ? '?' : one ? digit(files.get(0)) : '=');
        }
        return bar.toString();
    }

    private char digit(String file) {
        int rank = rank(file).map(RankShard::tensor).orElse(0);
        return "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".charAt(rank % 62);
    }

    private static Optional<Path> file(Piece piece) {
        return piece.data().source().inFile().map(range -> range.file());
    }

    private String name(Path file) {
        Path full = file.toAbsolutePath().normalize();
        boolean inside = full.startsWith(root) && !full.equals(root);
        return (inside ? root.relativize(full) : full.getFileName()).toString();
    }
}
