package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.family.MegatronExperts;
import dev.shardsmith.reshard.family.MegatronName;
import dev.shardsmith.reshard.family.OldNames;
import dev.shardsmith.reshard.view.ExpertForm;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * One chunk of the model in a rank's file, with a parameter for each expert whatever the form in which they are stored.
 *
 * @param entries parameters and opaque states by local key, in the order of the file
 * @param expertForm how the weights of experts are stored, if there are any
 * @param old whether keys are those from before Megatron's core library
 */
record RankChunk(Map<String, Entry> entries, Optional<ExpertForm> expertForm, boolean old) {
    private static final String ROUTER = "mlp.router.weight";

    /**
     * An entry of the chunk.
     *
     * @param node its node in the pickle
     * @param tensor its view, if it is a plain tensor
     */
    record Entry(PyValue node, Optional<StoredTensor> tensor) {}

    /**
     * Reads a chunk.
     *
     * @param key the chunk's key in the file
     * @param expertRanks over how many ranks the experts are spread
     * @throws CheckpointException if a tensor of several experts does not have the shape of one
     */
    static RankChunk of(RankFile file, String key, int expertRanks) throws IOException {
        Map<String, PyValue> stored = file.chunk(key);
        Map<String, Entry> entries = new LinkedHashMap<>();
        Optional<ExpertForm> form = Optional.empty();
        for (Map.Entry<String, PyValue> item : stored.entrySet()) {
            String current = OldNames.current(item.getKey());
            MegatronName name = MegatronName.parse(current);
            Entry entry = new Entry(item.getValue(), file.tensor(item.getValue()));
            Optional<PackedExperts> packed =
                    PackedExperts.of(name.suffix()).filter(any -> entry.tensor().isPresent());
            if (packed.isEmpty()) {
                entries.put(current, entry);
                form = form.or(() -> form(name));
                continue;
            }
            form = form.or(() -> Optional.of(packed.get().form()));
            long routed = routed(file, stored.get(name.prefix() + ROUTER), expertRanks);
            long count = packed.get().count(entry.tensor().get(), routed, file.name() + ", " + item.getKey());
            for (long expert = 0; expert < count; expert++) {
                StoredTensor view = packed.get().expert(entry.tensor().get(), expert, count);
                entries.put(name.prefix() + packed.get().of(expert), new Entry(item.getValue(), Optional.of(view)));
            }
        }
        return new RankChunk(entries, form, stored.keySet().stream().anyMatch(OldNames::isOld));
    }

    private static Optional<ExpertForm> form(MegatronName name) {
        if (MegatronExperts.number(name) < 0) {
            return Optional.empty();
        }
        boolean sequential = name.suffix().contains("local_experts");
        return Optional.of(sequential ? ExpertForm.SEQUENTIAL : ExpertForm.GROUPED);
    }

    /** Experts that each rank holds, as the router's rows say; 0 if there is no router. */
    private static long routed(RankFile file, PyValue router, int expertRanks) throws IOException {
        Optional<StoredTensor> weight = router == null ? Optional.empty() : file.tensor(router);
        return weight.filter(tensor -> tensor.shape().rank() == 2)
                .map(tensor -> tensor.shape().size(0) / expertRanks)
                .orElse(0L);
    }
}
