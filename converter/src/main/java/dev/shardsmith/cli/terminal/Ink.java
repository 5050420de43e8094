package dev.shardsmith.cli.terminal;

/** Colours and weights of text, as ANSI codes; plain text where the terminal has no colours. */
public enum Ink {
    BOLD("1"),
    DIM("2"),
    RED("31"),
    GREEN("32"),
    YELLOW("33"),
    BLUE("34"),
    MAGENTA("35"),
    CYAN("36");

    private final String code;

    Ink(String code) {
        this.code = code;
    }

    /** The text in this ink if the terminal shows colours, else the text itself. */
    public String on(Terminal terminal, String text) {
        return terminal.colour() && !text.isEmpty() ? "\u001b[" + code + "m" + text + "\u001b[0m" : text;
    }
}
