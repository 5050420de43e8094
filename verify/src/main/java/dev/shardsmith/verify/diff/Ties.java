package dev.shardsmith.verify.diff;

import dev.shardsmith.formats.pickle.PyBool;
import dev.shardsmith.reshard.view.ModelView;

/** Whether a checkpoint says that its output layer shares the weights of its embedding. */
final class Ties {
    static final String NOTE = "tied to the embedding on one side, stored with the embedding's values on the other";

    private Ties() {}

    /**
     * True if the options of the training run or {@code config.json} say so. Equal values alone do not make a tie: an output
     * layer that is missing for another reason must be found.
     */
    static boolean areDeclared(ModelView view) {
        if (Boolean.TRUE.equals(view.config().get("tie_word_embeddings"))
                || Boolean.TRUE.equals(view.config().get("tie_embeddings"))) {
            return true;
        }
        return view.state()
                .args()
                .flatMap(args -> args.value("untie_embeddings_and_output_weights"))
                .map(value -> value instanceof PyBool untied && !untied.value())
                .orElse(false);
    }
}
