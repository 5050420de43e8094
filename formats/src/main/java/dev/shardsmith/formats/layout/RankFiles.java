package dev.shardsmith.formats.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.layout.RankPattern.Named;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Finds the files of tensor-parallel ranks in a folder, complete and in order, or says what keeps them from being that. */
final class RankFiles {
    private static final Pattern WEIGHTS = Pattern.compile(".*\\.(?:pt|pth|bin|ckpt|safetensors)");
    private static final String HINT = "--file-pattern PATTERN, with {rank} where the rank's number stands";

    private final FolderListing folder;

    RankFiles(FolderListing folder) {
        this.folder = folder;
    }

    /**
     * Rank files and how they are named.
     *
     * @param pattern the pattern that all names have
     * @param files one of each rank, by rank
     */
    record Found(String pattern, List<Path> files) {}

    /** True if a file is named as the pattern says. */
    static boolean any(FolderListing folder, RankPattern pattern) throws IOException {
        return names(folder, "", pattern.depth()).stream()
                .anyMatch(name -> pattern.match(name).isPresent());
    }

    /**
     * The files that fit a user's pattern.
     *
     * @throws CheckpointException if there are none, or not one of each rank
     */
    Found asked(RankPattern pattern) throws IOException {
        List<Named> named = new ArrayList<>();
        for (String name : names(folder, "", pattern.depth())) {
            pattern.match(name).ifPresent(named::add);
        }
        if (named.isEmpty()) {
            throw CheckpointException.of(
                    CheckpointException.Kind.INCOMPLETE,
                    folder.folder().toString(),
                    "no file is named like " + pattern + "; there are: " + FolderListing.some(folder.names()));
        }
        return new Found(pattern.text(), complete(pattern, named));
    }

    /**
     * Files whose names say that they are of ranks: {@code rank_0.pt}, {@code mp_rank_00.pt}, {@code NAME.tp0-of-4.pt}.
     *
     * @throws CheckpointException if not one of each rank is there, or the names can be understood in several ways
     */
    Optional<Found> worded() throws IOException {
        List<String> names = weightFiles();
        Map<RankPattern, List<Named>> groups = RankPattern.group(names, true);
        if (groups.isEmpty()) {
            return Optional.empty();
        }
        List<RankPattern> patterns = new ArrayList<>(groups.keySet());
        int most = groups.values().stream().mapToInt(List::size).max().orElse(0);
        patterns.removeIf(pattern -> groups.get(pattern).size() < most);
        long marked = names.stream()
                .filter(name -> !RankPattern.of(name, true).isEmpty())
                .count();
        if (most < marked || most > 1 && patterns.size() > 1) {
            throw inconsistent("the names can be understood in several ways: "
                            + groups.keySet().stream()
                                    .filter(pattern -> patterns.contains(pattern)
                                            || groups.get(pattern).size() > 1
                                            || groups.size() <= 4)
                                    .limit(4)
                                    .map(RankPattern::text)
                                    .collect(Collectors.joining(", ")))
                    .withHint(HINT);
        }
        RankPattern pattern = patterns.get(0);
        return Optional.of(new Found(pattern.text(), complete(pattern, groups.get(pattern))));
    }

    /** Files whose names differ in nothing but a number that counts up from 0; only their content tells what they are. */
    Optional<Found> numbered() throws IOException {
        List<String> names = weightFiles();
        List<Found> found = new ArrayList<>();
        for (Map.Entry<RankPattern, List<Named>> group :
                RankPattern.group(names, false).entrySet()) {
            boolean all = names.size() > 1 && group.getValue().size() == names.size();
            if (all && isComplete(group.getValue())) {
                found.add(new Found(group.getKey().text(), complete(group.getKey(), group.getValue())));
            }
        }
        return found.size() == 1 ? Optional.of(found.get(0)) : Optional.empty();
    }

    private List<String> weightFiles() {
        return folder.names().stream()
                .filter(name -> WEIGHTS.matcher(name).matches() && folder.isFile(name))
                .toList();
    }

    private static List<String> names(FolderListing folder, String prefix, int depth) throws IOException {
        List<String> names = new ArrayList<>();
        for (String name : folder.names()) {
            if (depth == 0 && folder.isFile(name)) {
                names.add(prefix + name);
            } else if (depth > 0 && folder.isFolder(name)) {
                names.addAll(names(FolderListing.of(folder.inside(name)), prefix + name + "/", depth - 1));
            }
        }
        return names;
    }

    private static boolean isComplete(List<Named> named) {
        long ranks = named.stream().map(Named::rank).distinct().count();
        int lowest = named.stream().mapToInt(Named::rank).min().orElse(1);
        int highest = named.stream().mapToInt(Named::rank).max().orElse(0);
        boolean agreed = named.stream().map(Named::world).distinct().count() == 1;
        int world = named.get(0).world();
        boolean fromZero = lowest == 0 && (world == 0 || world == named.size());
        return ranks == named.size() && agreed && highest - lowest + 1 == ranks && (fromZero || countsFromOne(named));
    }

    /** True if the names say how many ranks there are and count them from 1. */
    private static boolean countsFromOne(List<Named> named) {
        int lowest = named.stream().mapToInt(Named::rank).min().orElse(0);
        int highest = named.stream().mapToInt(Named::rank).max().orElse(0);
        return lowest == 1 && named.get(0).world() == highest;
    }

    private List<Path> complete(RankPattern pattern, List<Named> named) throws IOException {
        TreeMap<Integer, String> byRank = new TreeMap<>();
        int world = 0;
        for (Named file : named) {
            if (world != 0 && file.world() != world) {
                throw inconsistent("files of " + world + " and of " + file.world() + " ranks lie in one folder")
                        .withHint("--file-pattern " + pattern.text().replace(RankPattern.WORLD, "" + world));
            }
            world = file.world();
            String other = byRank.putIfAbsent(file.rank(), file.name());
            if (other != null) {
                throw inconsistent("the files " + other + " and " + file.name() + " are of the same rank")
                        .withHint(HINT);
            }
        }
        int first = countsFromOne(named) ? 1 : 0;
        int size = world == 0 ? byRank.lastKey() + 1 : world;
        if (byRank.lastKey() >= first + size) {
            throw inconsistent("rank " + byRank.lastKey() + " ("
                    + byRank.lastEntry().getValue() + ") does not exist among " + size + " ranks");
        }
        List<Path> files = new ArrayList<>();
        List<String> missing = new ArrayList<>();
        for (int rank = first; rank < first + size; rank++) {
            if (byRank.containsKey(rank)) {
                files.add(inside(byRank.get(rank)));
            } else if (missing.size() <= 8) {
                missing.add(Integer.toString(rank));
            }
        }
        if (!missing.isEmpty()) {
            throw CheckpointException.of(
                    CheckpointException.Kind.INCOMPLETE,
                    folder.folder().toString(),
                    "the file of rank " + FolderListing.some(missing) + " is missing; there are: "
                            + FolderListing.some(List.copyOf(byRank.values())));
        }
        return files;
    }

    private Path inside(String name) throws IOException {
        FolderListing at = folder;
        String[] steps = name.split("/");
        for (int step = 0; step < steps.length - 1; step++) {
            at = FolderListing.of(at.inside(steps[step]));
        }
        return at.inside(steps[steps.length - 1]);
    }

    private CheckpointException inconsistent(String problem) {
        return CheckpointException.of(
                CheckpointException.Kind.INCONSISTENT, folder.folder().toString(), problem);
    }
}
