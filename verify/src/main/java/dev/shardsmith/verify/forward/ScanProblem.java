package dev.shardsmith.verify.forward;

import java.util.Optional;

/**
 * One run of the Mamba-2 state-space scan, with all its options.
 *
 * <p>Per sequence, head {@code h} of group {@code g} and token {@code t}, with {@code S} of [headDim, state]:
 *
 * <pre>
 *   d = timeStep(dt[t,h] + dtBias[h])
 *   S = exp(d · A) · S + d · outer(x[t,h], B[t,g])        A = -exp(aLog[h])
 *   y[t,h] = S · C[t,g] + D · x[t,h]                      then · silu(z[t,h]) if there is a gate
 * </pre>
 *
 * Arrays are not copied: nobody changes them while a scan runs.
 *
 * @param shape the sizes
 * @param x [batch, length, heads, headDim]
 * @param dt [batch, length, heads], raw
 * @param aLog [heads]
 * @param b [batch, length, groups, state]
 * @param c [batch, length, groups, state]
 * @param d [heads] or [heads, headDim], told apart by their length; with {@code headDim} 1 they are the same
 * @param z [batch, length, heads, headDim], the gate
 * @param dtBias [heads]
 * @param timeStep what is done with the raw step
 * @param initialState [batch, heads, headDim, state]; seen by the tokens of sequence id 0 only
 * @param sequenceIds [batch, length], not negative and never decreasing: packed sequences do not see each other
 * @param sequenceStarts [sequences + 1], for a batch of one packed row: where each sequence begins, then the length;
 *     asks for one final state per sequence
 */
public record ScanProblem(
        ScanShape shape,
        float[] x,
        float[] dt,
        float[] aLog,
        float[] b,
        float[] c,
        Optional<float[]> d,
        Optional<float[]> z,
        Optional<float[]> dtBias,
        TimeStep timeStep,
        Optional<float[]> initialState,
        Optional<int[]> sequenceIds,
        Optional<int[]> sequenceStarts) {

    /** Checks every array against the sizes, and the order of packed sequences. */
    public ScanProblem {
        length("x", x.length, (long) shape.tokens() * shape.inner());
        length("dt", dt.length, (long) shape.tokens() * shape.heads());
        length("aLog", aLog.length, shape.heads());
        length("B", b.length, (long) shape.tokens() * shape.groupState());
        length("C", c.length, (long) shape.tokens() * shape.groupState());
        if (d.isPresent() && d.get().length != shape.heads()) {
            length("D", d.get().length, shape.inner());
        }
        z.ifPresent(gate -> length("z", gate.length, x.length));
        dtBias.ifPresent(bias -> length("dt bias", bias.length, shape.heads()));
        initialState.ifPresent(
                state -> length("initial state", state.length, (long) shape.batch() * shape.stateSize()));
        sequenceIds.ifPresent(ids -> PackedSequences.checkIds(shape, ids));
        sequenceStarts.ifPresent(starts -> PackedSequences.checkStarts(shape, sequenceIds, starts));
    }

    /** A scan without options: softplus, no bias, no D, no gate, states begin at zero. */
    public static ScanProblem of(ScanShape shape, float[] x, float[] dt, float[] aLog, float[] b, float[] c) {
        return new ScanProblem(
                shape,
                x,
                dt,
                aLog,
                b,
                c,
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                TimeStep.SOFTPLUS,
                Optional.empty(),
                Optional.empty(),
                Optional.empty());
    }

    /** The same with the skip term D, [heads] or [heads, headDim]. */
    public ScanProblem withD(float[] skip) {
        return new ScanProblem(
                shape,
                x,
                dt,
                aLog,
                b,
                c,
                Optional.of(skip),
                z,
                dtBias,
                timeStep,
                initialState,
                sequenceIds,
                sequenceStarts);
    }

    /** The same with a gate. */
    public ScanProblem withGate(float[] gate) {
        return new ScanProblem(
                shape,
                x,
                dt,
                aLog,
                b,
                c,
                d,
                Optional.of(gate),
                dtBias,
                timeStep,
                initialState,
                sequenceIds,
                sequenceStarts);
    }

    /** The same with a bias of the time step and a rule for it. */
    public ScanProblem withTimeStep(Optional<float[]> bias, TimeStep rule) {
        return new ScanProblem(shape, x, dt, aLog, b, c, d, z, bias, rule, initialState, sequenceIds, sequenceStarts);
    }

    /** The same beginning at a given state. */
    public ScanProblem withInitialState(float[] state) {
        return new ScanProblem(
                shape, x, dt, aLog, b, c, d, z, dtBias, timeStep, Optional.of(state), sequenceIds, sequenceStarts);
    }

    /** The same with packed sequences, by the id of each token. */
    public ScanProblem withSequenceIds(int[] ids) {
        return new ScanProblem(
                shape, x, dt, aLog, b, c, d, z, dtBias, timeStep, initialState, Optional.of(ids), sequenceStarts);
    }

    /** The same with packed sequences in one row, by where they begin; the ids follow from that. */
    public ScanProblem withSequenceStarts(int[] starts) {
        int[] ids = PackedSequences.idsOf(shape, starts);
        return new ScanProblem(
                shape, x, dt, aLog, b, c, d, z, dtBias, timeStep, initialState, Optional.of(ids), Optional.of(starts));
    }

    /** Whether D has an element per channel (and not per head). */
    public boolean skipPerChannel() {
        return d.isPresent() && d.get().length != shape.heads();
    }

    private static void length(String name, long found, long expected) {
        if (found != expected) {
            throw new IllegalArgumentException(name + " has " + found + " elements, not " + expected);
        }
    }
}
