import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.DoubleAdder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/** The float multiply-adds that this machine does at most: independent ones on registers, on every processor. */
final class MultiplyAddPeak {
    private static final VectorSpecies<Float> SPECIES = FloatVector.SPECIES_PREFERRED;
    private static final int STEPS = 20_000;
    private static final int CALLS = 2_000;

    private MultiplyAddPeak() {}

    public static void main(String[] args) throws InterruptedException {
        int processors = Runtime.getRuntime().availableProcessors();
        double best = 0;
        for (int round = 0; round < 4; round++) {
            CountDownLatch done = new CountDownLatch(processors);
            DoubleAdder seconds = new DoubleAdder();
            for (int i = 0; i < processors; i++) {
                new Thread(() -> {
                            seconds.add(run());
                            done.countDown();
                        })
                        .start();
            }
            done.await();
            double operations = 2.0 * 12 * SPECIES.length() * STEPS * (double) CALLS * processors;
            best = Math.max(best, operations / seconds.sum() * processors / 1e9);
        }
        System.out.printf("%.1f%n", best);
    }

    /** The processor time of one thread's work, in seconds. */
    private static double run() {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long start = threads.getCurrentThreadCpuTime();
        float sum = 0;
        for (int call = 0; call < CALLS; call++) {
            sum += multiplyAdds(0.5f + call, 1e-3f);
        }
        if (Float.isNaN(sum)) {
            System.err.println(sum);
        }
        return (threads.getCurrentThreadCpuTime() - start) / 1e9;
    }

    private static float multiplyAdds(float first, float factor) {
        FloatVector a = FloatVector.broadcast(SPECIES, first);
        FloatVector b = FloatVector.broadcast(SPECIES, factor);
        FloatVector s0 = a;
        FloatVector s1 = a;
        FloatVector s2 = a;
        FloatVector s3 = a;
        FloatVector s4 = a;
        FloatVector s5 = a;
        FloatVector s6 = a;
        FloatVector s7 = a;
        FloatVector s8 = a;
        FloatVector s9 = a;
        FloatVector s10 = a;
        FloatVector s11 = a;
        for (int i = 0; i < STEPS; i++) {
            s0 = s0.fma(b, a);
            s1 = s1.fma(b, a);
            s2 = s2.fma(b, a);
            s3 = s3.fma(b, a);
            s4 = s4.fma(b, a);
            s5 = s5.fma(b, a);
            s6 = s6.fma(b, a);
            s7 = s7.fma(b, a);
            s8 = s8.fma(b, a);
            s9 = s9.fma(b, a);
            s10 = s10.fma(b, a);
            s11 = s11.fma(b, a);
        }
        FloatVector sum = s0.add(s1).add(s2).add(s3).add(s4).add(s5).add(s6).add(s7).add(s8).add(s9).add(s10).add(s11);
        return sum.reduceLanes(VectorOperators.ADD);
    }
}
