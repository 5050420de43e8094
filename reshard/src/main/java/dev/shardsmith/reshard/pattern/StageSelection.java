package dev.shardsmith.reshard.pattern;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.pattern.PatternProblem.Rule;
import dev.shardsmith.reshard.pattern.SymbolCheck.Pipes;
import java.util.OptionalInt;

/**
 * Which layers one rank builds: the framework's own choice, with its gaps.
 *
 * <p>It looks at one rank at a time, so nothing here notices that all ranks together lose or repeat layers; that is
 * {@link StageLayout}'s work. Only the symbols of the rank's own segment are checked.
 */
public final class StageSelection {
    private StageSelection() {}

    /**
     * The layers of one rank.
     *
     * @param main the main part as written; it need not have been parsed
     * @param ppRank pipeline rank, below {@code ppSize}
     * @param ppSize pipeline size
     * @param vpStage the virtual stage, if the run has any
     * @param edges counts for first and last stage
     * @throws CheckpointException of kind {@code REFUSED} if the framework refuses
     */
    public static Stage select(String main, int ppRank, int ppSize, OptionalInt vpStage, EdgeStages edges)
            throws CheckpointException {
        try {
            return selectOrFault(main, ppRank, ppSize, vpStage, edges);
        } catch (PatternFault fault) {
            throw fault.problem().toException("hybrid layer pattern " + PatternProblem.shown(main));
        }
    }

    static Stage selectOrFault(String main, int ppRank, int ppSize, OptionalInt vpStage, EdgeStages edges)
            throws PatternFault {
        String[] segments = main.split("\\|", -1);
        int vp = vpStage.orElse(0);
        if (segments.length == 1 && ppSize > 1) {
            return withoutPipes(main, ppRank, ppSize, vpStage, edges);
        }
        if (segments.length > 1 && edges.given()) {
            throw new PatternFault(
                    Rule.PIPES_AND_STAGE_COUNTS,
                    "the pattern says with | where stages end, and so do the counts for the first and last stage",
                    SymbolCheck.column(main, main.indexOf('|')),
                    "remove either the pipes or --decoder-first/last-pipeline-num-layers");
        }
        if (segments.length % ppSize != 0) {
            throw unevenSegments(main, segments.length, ppSize);
        }
        long index = (long) vp * ppSize + ppRank;
        if (index >= segments.length) {
            String message = "stage pp %d vp %d needs segment %d, but the pattern has segments 0 to %d only"
                    .formatted(ppRank, vp, index, segments.length - 1);
            throw new PatternFault(
                    Rule.NO_SUCH_SEGMENT, message, 0, "add | or ask for fewer pipeline or virtual stages");
        }
        int offset = 0;
        int start = 0;
        for (int j = 0; j < index; j++) {
            offset += segments[j].length();
            start += segments[j].length() + 1;
        }
        int end = start + segments[(int) index].length();
        SymbolCheck.kinds(main, start, end, "segment", Pipes.FORBIDDEN);
        return new Stage(ppRank, vp, offset, segments[(int) index]);
    }

    static PatternFault unevenSegments(String main, int segments, int ppSize) {
        String message =
                "the %d segments between pipes do not divide by %d pipeline stages".formatted(segments, ppSize);
        int pipe = main.lastIndexOf('|');
        return new PatternFault(
                Rule.UNEVEN_SEGMENTS,
                message,
                pipe < 0 ? 0 : SymbolCheck.column(main, pipe),
                "use a multiple of %d segments, or a pipeline size that divides %d".formatted(ppSize, segments));
    }

    private static Stage withoutPipes(String main, int ppRank, int ppSize, OptionalInt vpStage, EdgeStages edges)
            throws PatternFault {
        if (vpStage.isPresent()) {
            throw new PatternFault(
                    Rule.VIRTUAL_WITHOUT_PIPES,
                    "virtual stages need a pattern whose stages are divided by |",
                    0,
                    "put a | where each of the stages ends");
        }
        SymbolCheck.kinds(main, 0, main.length(), "main part", Pipes.FORBIDDEN);
        int layers = main.length();
        if (!edges.given()) {
            if (layers % ppSize != 0) {
                String message = "%d layers do not divide by %d pipeline stages".formatted(layers, ppSize);
                throw new PatternFault(
                        Rule.UNEVEN_LAYERS, message, 0, "put a | where each stage ends, or give --pp-layers");
            }
            int each = layers / ppSize;
            return slice(main, ppRank, ppRank * each, ppRank * each + each);
        }
        int first = bounded(edges.first().orElse(0));
        int last = bounded(edges.last().orElse(0));
        int middle = layers - first - last;
        int middleStages = ppSize - edges.stages();
        if (middleStages > 0 && Math.floorMod(middle, middleStages) != 0) {
            String message = "the %d layers between first and last stage do not divide by %d stages"
                    .formatted(middle, middleStages);
            throw new PatternFault(Rule.UNEVEN_MIDDLE, message, 0, "put a | where each stage ends instead");
        }
        int each = middleStages > 0 ? Math.floorDiv(middle, middleStages) : 0;
        if (edges.first().isPresent() && ppRank == 0) {
            return slice(main, ppRank, 0, first);
        }
        if (edges.last().isPresent() && ppRank == ppSize - 1) {
            return slice(main, ppRank, layers - last, layers);
        }
        int start = (edges.first().isPresent() ? ppRank - 1 : ppRank) * each + first;
        return slice(main, ppRank, start, start + each);
    }

    private static int bounded(int layers) throws PatternFault {
        if (Math.abs((long) layers) > 1_000_000) {
            throw new PatternFault(Rule.LAYER_COUNTS, "a stage of " + layers + " layers is impossible", 0, "");
        }
        return layers;
    }

    /** A slice as the framework's language cuts it: bounds below 0 count from the end, all are clipped. */
    private static Stage slice(String main, int ppRank, int from, int to) {
        int start = bound(from, main.length());
        int end = Math.max(start, bound(to, main.length()));
        return new Stage(ppRank, 0, from, main.substring(start, end));
    }

    private static int bound(int position, int length) {
        return Math.min(length, position < 0 ? Math.max(0, position + length) : position);
    }
}
