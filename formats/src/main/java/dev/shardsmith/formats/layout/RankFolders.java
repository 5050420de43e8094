package dev.shardsmith.formats.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.layout.CheckpointLocation.RankFolder;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The folders {@code mp_rank_TT[_PPP][_EEE]} of Megatron's legacy form: found, ordered, checked to be all. */
final class RankFolders {
    private static final Pattern NAME = Pattern.compile("mp_rank_(\\d{2,9})(?:_(\\d{3,9}))?(?:_(\\d{3,9}))?");

    /** Today's name of the file, and the one before May 2023. */
    private static final List<String> MODEL_FILES = List.of("model_optim_rng.pt", "model_rng.pt");

    private static final String OPTIMIZER = "optim.pt";

    private static final Pattern OTHER_FILES =
            Pattern.compile("distrib_optim\\.pt|optim\\.pt|layer_wise_optimizer_\\d+\\.pt");

    private final FolderListing iteration;
    /** Names of the folders by their numbers. */
    private final Map<List<Integer>, String> byNumbers = new TreeMap<>(RankFolders::compare);

    /** Files of the optimizer that have a folder of their own, by the numbers of the model's folder that they belong to. */
    private final Map<List<Integer>, List<Path>> optimizers = new TreeMap<>(RankFolders::compare);

    private RankFolders(FolderListing iteration) {
        this.iteration = iteration;
    }

    static boolean isRankFolder(FolderListing listing, String name) {
        return NAME.matcher(name).matches() && listing.isFolder(name);
    }

    /**
     * All ranks' folders, by number.
     *
     * @throws CheckpointException of kind INCOMPLETE naming those that are missing
     */
    static List<RankFolder> find(FolderListing iteration) throws IOException {
        RankFolders folders = new RankFolders(iteration);
        folders.collect();
        folders.separateOptimizers();
        folders.requireAll();
        List<RankFolder> ranks = new ArrayList<>();
        for (Map.Entry<List<Integer>, String> folder : folders.byNumbers.entrySet()) {
            ranks.add(folders.open(folder.getKey(), folder.getValue()));
        }
        return ranks;
    }

    private void collect() throws CheckpointException {
        for (String name : iteration.names()) {
            Matcher match = NAME.matcher(name);
            if (!match.matches() || !iteration.isFolder(name)) {
                continue;
            }
            List<Integer> numbers = new ArrayList<>();
            for (int group = 1; group <= match.groupCount(); group++) {
                if (match.group(group) != null) {
                    numbers.add(Integer.parseInt(match.group(group)));
                }
            }
            String other = byNumbers.putIfAbsent(numbers, name);
            if (other != null) {
                throw inconsistent("the folders " + other + " and " + name + " are of the same rank");
            }
        }
    }

    /**
     * Before May 2023 a distributed optimizer had a folder for each data-parallel rank, {@code mp_rank_TT[_PPP]_DDD/optim.pt},
     * beside the model's {@code mp_rank_TT[_PPP]/model_rng.pt}.
     */
    private void separateOptimizers() throws IOException {
        int shortest = byNumbers.keySet().stream().mapToInt(List::size).min().orElse(0);
        for (Map.Entry<List<Integer>, String> folder : List.copyOf(byNumbers.entrySet())) {
            List<Integer> numbers = folder.getKey();
            List<Integer> owner = numbers.subList(0, numbers.size() - 1);
            if (numbers.size() == shortest + 1 && byNumbers.containsKey(owner)) {
                FolderListing listing = FolderListing.of(iteration.inside(folder.getValue()));
                if (listing.isFile(OPTIMIZER) && MODEL_FILES.stream().noneMatch(listing::isFile)) {
                    byNumbers.remove(numbers);
                    optimizers
                            .computeIfAbsent(List.copyOf(owner), key -> new ArrayList<>())
                            .add(listing.inside(OPTIMIZER));
                }
            }
        }
    }

    private void requireAll() throws CheckpointException {
        Set<Integer> lengths = new HashSet<>();
        byNumbers.keySet().forEach(numbers -> lengths.add(numbers.size()));
        if (lengths.size() > 1) {
            throw inconsistent("the names of the ranks' folders have different forms: "
                    + FolderListing.some(List.copyOf(byNumbers.values())));
        }
        int length = lengths.iterator().next();
        int[] sizes = new int[length];
        for (List<Integer> numbers : byNumbers.keySet()) {
            for (int i = 0; i < length; i++) {
                sizes[i] = Math.max(sizes[i], numbers.get(i) + 1);
            }
        }
        List<String> missing = missing(sizes);
        if (!missing.isEmpty() && !expertsOnFewerRanks(sizes)) {
            throw CheckpointException.of(
                            CheckpointException.Kind.INCOMPLETE,
                            iteration.folder().toString(),
                            "folders of ranks are missing: " + FolderListing.some(missing))
                    .withHint("the ranks in the names run up to "
                            + byNumbers.values().stream().reduce((a, b) -> b).orElseThrow()
                            + "; every combination has to be there");
        }
    }

    /**
     * Whether the folders are those of experts that are divided among T' tensor ranks and dense layers among T &gt; T': process r
     * of a stage writes as tensor rank {@code r mod T} and expert rank {@code r div T'}, for r below T' times the expert ranks.
     */
    private boolean expertsOnFewerRanks(int[] sizes) {
        int last = sizes.length - 1;
        if (last == 0) {
            return false;
        }
        long stages = last == 2 ? sizes[1] : 1;
        for (int divided = 1; divided < sizes[0]; divided++) {
            boolean fits = sizes[0] % divided == 0
                    && (long) divided * sizes[last] >= sizes[0]
                    && byNumbers.size() == stages * divided * sizes[last];
            int expertTensor = divided;
            int tensor = sizes[0];
            if (fits
                    && byNumbers.keySet().stream()
                            .allMatch(numbers -> written(numbers.get(0), numbers.get(last), tensor, expertTensor))) {
                return true;
            }
        }
        return false;
    }

    /** Whether one of an expert rank's processes has a tensor rank. */
    private static boolean written(int tensorRank, int expertRank, int tensor, int expertTensor) {
        for (int process = 0; process < expertTensor; process++) {
            if ((expertRank * (long) expertTensor + process) % tensor == tensorRank) {
                return true;
            }
        }
        return false;
    }

    /** Names of missing folders, at most a few more than are shown: numbers in names may be huge. */
    private List<String> missing(int[] sizes) {
        List<String> missing = new ArrayList<>();
        int[] numbers = new int[sizes.length];
        while (missing.size() < 100) {
            List<Integer> boxed = Arrays.stream(numbers).boxed().toList();
            if (!byNumbers.containsKey(boxed)) {
                missing.add(name(numbers));
            }
            int digit = sizes.length - 1;
            while (digit >= 0 && ++numbers[digit] == sizes[digit]) {
                numbers[digit--] = 0;
            }
            if (digit < 0) {
                break;
            }
        }
        return missing;
    }

    private static String name(int[] numbers) {
        StringBuilder name = new StringBuilder(String.format(Locale.ROOT, "mp_rank_%02d", numbers[0]));
        for (int i = 1; i < numbers.length; i++) {
            name.append(String.format(Locale.ROOT, "_%03d", numbers[i]));
        }
        return name.toString();
    }

    private RankFolder open(List<Integer> numbers, String name) throws IOException {
        FolderListing folder = FolderListing.of(iteration.inside(name));
        Path model = null;
        for (String file : MODEL_FILES) {
            if (model == null && folder.isFile(file)) {
                model = folder.inside(file);
            }
        }
        if (model == null) {
            throw CheckpointException.of(
                    CheckpointException.Kind.INCOMPLETE,
                    folder.folder().toString(),
                    "the rank's folder has no " + MODEL_FILES.get(0));
        }
        List<Path> others = new ArrayList<>();
        for (String file : folder.names()) {
            if (OTHER_FILES.matcher(file).matches() && folder.isFile(file)) {
                others.add(folder.inside(file));
            }
        }
        others.addAll(optimizers.getOrDefault(numbers, List.of()));
        return new RankFolder(name, numbers.get(0), number(numbers, 1), number(numbers, 2), model, List.copyOf(others));
    }

    private static OptionalInt number(List<Integer> numbers, int index) {
        return index < numbers.size() ? OptionalInt.of(numbers.get(index)) : OptionalInt.empty();
    }

    private static int compare(List<Integer> a, List<Integer> b) {
        for (int i = 0; i < Math.min(a.size(), b.size()); i++) {
            int order = a.get(i).compareTo(b.get(i));
            if (order != 0) {
                return order;
            }
        }
        return Integer.compare(a.size(), b.size());
    }

    private CheckpointException inconsistent(String problem) {
        return CheckpointException.of(
                CheckpointException.Kind.INCONSISTENT, iteration.folder().toString(), problem);
    }
}
