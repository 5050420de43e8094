package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.zip.CRC32;
import java.util.zip.GZIPOutputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Files that bear a checkpoint's name and are something else: told by name, never guessed at, never called clean. */
class ForeignFilesTest {
    /** {@code pickle.dumps({}, 2)} */
    private static final byte[] EMPTY_DICT = HexFormat.of().parseHex("80027d71002e");

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "TAR       | a PyTorch file of version 0.1 (tar archive) | save it again | 3",
                "SCRIPT    | a TorchScript archive | torch.jit.load | 1",
                "PACKAGE   | a torch.package archive | PackageImporter | 0",
                "EXPORT    | a torch.export archive | torch.export.load | 0",
                "NPY       | a NumPy array (.npy) | numpy.load | 0",
                "NPZ       | a NumPy archive (.npz) | numpy.load | 0",
                "GZIP      | a gzip file | gunzip | 3",
                "HTML      | a web page | download the file again | 3",
                "POINTER   | a Git LFS pointer | git lfs pull | 3",
                "PICKLE    | a Python pickle that torch.save did not write | torch.save | 0",
                "ZIP       | a zip archive that PyTorch did not write | check that | 0",
                "EMPTY     | an empty file | get the file again | 3",
                "TEXT      | a text file | check that | 3",
            })
    void isNamedByInspectAndConvertAndScannedForWhatItIs(Foreign kind, String what, String advice, int scanned)
            throws IOException {
        Path file = Files.write(folder.resolve("model.pt"), kind.bytes());
        CommandRun inspect = CommandRun.of("inspect", file.toString());
        assertThat(inspect.exit()).as(inspect.err()).isEqualTo(ExitCode.INPUT);
        assertThat(flat(inspect.err()))
                .contains("this is " + what)
                .contains(advice)
                .contains("model.pt");
        assertThat(inspect.err().lines().count()).isLessThanOrEqualTo(4);

        Path target = folder.resolve("target.safetensors");
        CommandRun convert = CommandRun.of("convert", file.toString(), target.toString());
        assertThat(convert.exit()).as(convert.err()).isEqualTo(ExitCode.INPUT);
        assertThat(flat(convert.err())).contains("this is " + what);
        assertThat(target).doesNotExist();

        CommandRun scan = CommandRun.of("scan", file.toString());
        assertThat(scan.exit().code()).as(scan.out()).isEqualTo(scanned);
    }

    /** A safetensors file is read whatever its name; nothing in it can be run. */
    @Test
    void safetensorsUnderAnotherNameIsReadAsWhatItIs() throws IOException {
        String header = "{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        bytes.write(new byte[] {(byte) header.length(), 0, 0, 0, 0, 0, 0, 0});
        bytes.writeBytes(header.getBytes(StandardCharsets.US_ASCII));
        bytes.writeBytes(new byte[] {0, 0, (byte) 0x80, 0x3f, 0, 0, 0, (byte) 0xc0});
        Path file = Files.write(folder.resolve("pytorch_model.bin"), bytes.toByteArray());

        CommandRun inspect = CommandRun.of("inspect", file.toString(), "--tensors", "--json");
        assertThat(inspect.exit()).as(inspect.err()).isEqualTo(ExitCode.OK);
        assertThat(inspect.json().get("layout").asText()).isEqualTo("safetensors");
        assertThat(inspect.json().at("/tensors/0/name").asText()).isEqualTo("w");
        assertThat(CommandRun.of("scan", file.toString()).exit()).isEqualTo(ExitCode.OK);
        Path target = folder.resolve("target.pt");
        CommandRun convert = CommandRun.of("convert", file.toString(), target.toString(), "--to", "pt");
        assertThat(convert.exit()).as(convert.err()).isEqualTo(ExitCode.OK);
    }

    private static String flat(String text) {
        return text.replaceAll("\\s+", " ");
    }

    /** Kinds of files, and how to make a small one. */
    enum Foreign {
        TAR {
            @Override
            byte[] bytes() {
                ByteArrayOutputStream tar = new ByteArrayOutputStream();
                for (String name : new String[] {"sys_info", "pickle", "tensors", "storages"}) {
                    byte[] header = new byte[512];
                    put(header, 0, name);
                    put(header, 100, "0000644\0");
                    put(header, 124, "%011o\0".formatted(EMPTY_DICT.length));
                    put(header, 148, "        0");
                    put(header, 257, "ustar\00000");
                    int sum = 0;
                    for (byte b : header) {
                        sum += b & 0xff;
                    }
                    put(header, 148, "%06o\0 ".formatted(sum));
                    tar.writeBytes(header);
                    tar.writeBytes(Arrays.copyOf(EMPTY_DICT, 512));
                }
                tar.writeBytes(new byte[1024]);
                return tar.toByteArray();
            }
        },
        SCRIPT {
            @Override
            byte[] bytes() throws IOException {
                return zip("m/data.pkl", "m/constants.pkl", "m/code/__torch__.py", "m/version");
            }
        },
        PACKAGE {
            @Override
            byte[] bytes() throws IOException {
                return zip("m/.data/extern_modules", "m/.data/python_version", "m/.data/version");
            }
        },
        EXPORT {
            @Override
            byte[] bytes() throws IOException {
                return zip("m/archive_format", "m/models/model.json", "m/version");
            }
        },
        NPY {
            @Override
            byte[] bytes() {
                return npy();
            }
        },
        NPZ {
            @Override
            byte[] bytes() throws IOException {
                return zip("a.npy", "b.npy");
            }
        },
        GZIP {
            @Override
            byte[] bytes() throws IOException {
                ByteArrayOutputStream bytes = new ByteArrayOutputStream();
                try (GZIPOutputStream gzip = new GZIPOutputStream(bytes)) {
                    gzip.write(EMPTY_DICT);
                }
                return bytes.toByteArray();
            }
        },
        HTML {
            @Override
            byte[] bytes() {
                return text("<!DOCTYPE html>\n<html><body>404</body></html>\n");
            }
        },
        POINTER {
            @Override
            byte[] bytes() {
                return text("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 12345\n"
                        .formatted("0123456789abcdef".repeat(4)));
            }
        },
        PICKLE {
            @Override
            byte[] bytes() {
                return EMPTY_DICT;
            }
        },
        ZIP {
            @Override
            byte[] bytes() throws IOException {
                return zip("report/readme.txt");
            }
        },
        EMPTY {
            @Override
            byte[] bytes() {
                return new byte[0];
            }
        },
        TEXT {
            @Override
            byte[] bytes() {
                return text("see the other folder\n");
            }
        };

        abstract byte[] bytes() throws IOException;

        private static byte[] npy() {
            String header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
            String padded = header + " ".repeat(118 - 1 - header.length()) + "\n";
            byte[] bytes = text("?NUMPY\1\0v\0" + padded + "\0\0\0\0\0\0\0\0");
            bytes[0] = (byte) 0x93;
            return bytes;
        }

        /** An archive of stored records. */
        private static byte[] zip(String... names) throws IOException {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            try (ZipOutputStream zip = new ZipOutputStream(bytes)) {
                zip.setMethod(ZipOutputStream.STORED);
                for (String name : names) {
                    byte[] content = name.endsWith(".pkl") ? EMPTY_DICT : name.endsWith(".npy") ? npy() : text("3\n");
                    CRC32 crc = new CRC32();
                    crc.update(content);
                    ZipEntry entry = new ZipEntry(name);
                    entry.setSize(content.length);
                    entry.setCrc(crc.getValue());
                    zip.putNextEntry(entry);
                    zip.write(content);
                }
            }
            return bytes.toByteArray();
        }

        private static byte[] text(String text) {
            return text.getBytes(StandardCharsets.US_ASCII);
        }

        private static void put(byte[] header, int at, String text) {
            byte[] bytes = text(text);
            System.arraycopy(bytes, 0, header, at, bytes.length);
        }
    }
}
