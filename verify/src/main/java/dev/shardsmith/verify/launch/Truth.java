package dev.shardsmith.verify.launch;

/** What is known of a condition. */
enum Truth {
    YES,
    NO,
    UNKNOWN;

    static Truth of(boolean value) {
        return value ? YES : NO;
    }

    Truth not() {
        return switch (this) {
            case YES -> NO;
            case NO -> YES;
            case UNKNOWN -> UNKNOWN;
        };
    }
}
