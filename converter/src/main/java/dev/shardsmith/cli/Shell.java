package dev.shardsmith.cli;

/** The shells that completion is written for. */
enum Shell {
    BASH,
    ZSH,
    FISH
}
