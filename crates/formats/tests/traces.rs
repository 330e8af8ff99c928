//! Formats of traces: a few lines of each, and the errors about a trace that is truncated, in wrong units, or not sorted.

use seekwise_disk::block::Op;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_formats::trace::survey::{TraceSurvey, survey};
use seekwise_formats::trace::{
    FORMATS, KernelEvent, TraceEntry, TraceFormat, TracePart, TraceReadOptions, TraceUnits, WaitMeaning, open,
    time_unit_name,
};

/// A trace named `t` with this content.
fn trace_part(bytes: &[u8]) -> TracePart {
    ("t".to_owned(), Box::new(std::io::Cursor::new(bytes.to_vec())))
}

/// A request: time in nanoseconds, operation, device, first sector, sectors, response time in nanoseconds.
type RequestRow = (u64, Op, String, u64, u32, Option<u64>);

fn read_rows_with(bytes: &[u8], reading: &TraceReadOptions) -> Result<Vec<RequestRow>, Diagnostic> {
    let mut reader = open(vec![trace_part(bytes)], reading)?;
    let mut rows = Vec::new();
    while let Some(entry) = reader.read()? {
        let TraceEntry { at, response, op, device, lba, sectors, .. } = entry;
        let device = reader.devices()[device as usize].clone();
        rows.push((at.nanos(), op, device, lba, sectors, response.map(|response| response.nanos())));
    }
    Ok(rows)
}

fn read_rows(text: &str) -> Vec<RequestRow> {
    read_rows_with(text.as_bytes(), &TraceReadOptions::default()).unwrap()
}

/// The survey of a trace whose units and timestamps are plausible, otherwise the error.
fn survey_text(text: &str, reading: &TraceReadOptions) -> Result<TraceSurvey, String> {
    let parts = || Ok(vec![trace_part(text.as_bytes())]);
    let found = survey(&parts, reading, false).map_err(|fault| fault.to_string())?;
    found.check_timestamps("t", reading).map_err(|fault| fault.to_string())?;
    Ok(found)
}

/// The error about a trace that must be refused.
fn error_about(text: &str) -> String {
    survey_text(text, &TraceReadOptions::default()).map(|survey| format!("{survey:?}")).unwrap_err()
}

fn row(at_ns: u64, op: Op, device: &str, lba: u64, sectors: u32, response_ns: Option<u64>) -> RequestRow {
    (at_ns, op, device.to_owned(), lba, sectors, response_ns)
}

const MSR: &str =
    "128166372003061629,usr,0,Read,7014609920,24576,41286\n128166372016382155,usr,0,Write,1317441536,8192,1963\n";

#[test]
fn msr() {
    let expected = [
        row(0, Op::Read, "usr,0", 13_700_410, 48, Some(4_128_600)),
        row(1_332_052_600, Op::Write, "usr,0", 2_573_128, 16, Some(196_300)),
    ];
    assert_eq!(read_rows(MSR), expected);
    let head = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n";
    assert_eq!(read_rows(&format!("\u{feff}{head}{}", MSR.replace('\n', "\r\n"))), expected);
    let cut = &MSR[..MSR.len() - 20];
    assert_eq!(
        error_about(cut),
        "t:2: the file ends inside this line: 5 values; expected Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime"
    );
    // Seconds of Unix where units of 100 ns are expected.
    let seconds = MSR.replace("128166372003061629", "1172163600").replace("128166372016382155", "1172163601");
    let seconds = format!("{seconds}1172163601,usr,0,Read,0,512,9\n");
    assert_eq!(
        error_about(&seconds),
        "t: `trace.time`: 3 requests in 0.000000 s are 20000000 a second, which no device can do: timestamps are taken as \
         units of 100 ns; expected another unit: trace.time=us makes it 2000000 a second, trace.time=ms makes it \
         2000 a second, trace.time=s makes it 2 a second"
    );
    let reversed: String = MSR.lines().rev().map(|line| format!("{line}\n")).collect();
    assert_eq!(read_rows(&reversed), expected, "order is made");
    assert_eq!(survey_text(&reversed, &TraceReadOptions::default()).unwrap().met.reordered, 1);
    assert_eq!(
        survey_text(&reversed, &TraceReadOptions { window: 1, ..TraceReadOptions::default() }).unwrap_err(),
        "t:2: `time`: it is 1.332053 s earlier than a line more than 1 requests before it; expected a trace sorted by \
         time, or a larger trace.window"
    );
}

const SPC: &str = "0,303567,3584,w,0.000000\n1,55590,3072,R,0.026214,more\n 0 , 303574 , 100 , r , 1.5\n";

#[test]
fn spc() {
    let expected = [
        row(0, Op::Write, "0", 303_567, 7, None),
        row(26_214_000, Op::Read, "1", 55_590, 6, None),
        row(1_500_000_000, Op::Read, "0", 303_574, 1, None),
    ];
    assert_eq!(read_rows(SPC), expected);
    assert_eq!(survey_text(SPC, &TraceReadOptions::default()).unwrap().ragged, 1);
    assert_eq!(
        error_about(&SPC.replace("0.026214,more", "0 026214")),
        "t:2: `Timestamp`: `0 026214` is invalid; expected a time in seconds"
    );
    assert_eq!(
        error_about(&SPC[..SPC.len() - 12]),
        "t:3: the file ends inside this line: 3 values; expected ASU,LBA,Size,Opcode,Timestamp"
    );
    let sectors: String = (0..9).map(|i| format!("0,{},8,R,{i}.5\n", i * 8)).collect();
    assert_eq!(
        error_about(&sectors),
        "t: `trace.length`: every request is smaller than a sector of 512 bytes, as SPC (UMass) counts bytes; expected sizes in bytes, or \
         trace.length=512 if they are in sectors"
    );
    let right = TraceReadOptions { length: Some(512), ..TraceReadOptions::default() };
    assert_eq!(survey_text(&sectors, &right).unwrap().largest, 8);
    let unsorted: String = SPC.lines().rev().map(|line| format!("{line}\n")).collect();
    assert_eq!(survey_text(&unsorted, &TraceReadOptions::default()).unwrap().met.reordered, 2);
}

/// A property that fewer than eight requests share, or that one of many does not have, says nothing of units.
#[test]
fn another_unit_is_suggested_if_eight_requests_and_all_of_them_look_like_it() {
    let disksim = |requests: u64| (0..requests).map(|i| format!("{i}.0 0 {} 4096 1\n", i << 20)).collect::<String>();
    let spc = |requests: u64| (0..requests).map(|i| format!("0,{},8,R,{i}.5\n", i * 8)).collect::<String>();
    for text in [disksim(8), spc(8)] {
        assert!(error_about(&text).starts_with("t: `trace.length`: every "), "{text}");
    }
    for text in [
        disksim(7),
        format!("{}9.0 0 {} 4096 1\n", disksim(9), (9 << 20) + 1),
        format!("{}9.0 0 {} 4095 1\n", disksim(9), 9 << 20),
        spc(7),
        format!("{}0,72,1024,R,9.5\n", spc(9)),
    ] {
        survey_text(&text, &TraceReadOptions::default()).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

const DISKSIM: &str = "0.000 5 170843704 56 1\n1.037 5 170843768 120 0\n9.315 5 170843760 8 81\n";

#[test]
fn disksim() {
    let expected = [
        row(0, Op::Read, "5", 170_843_704, 56, None),
        row(1_037_000, Op::Write, "5", 170_843_768, 120, None),
        row(9_315_000, Op::Read, "5", 170_843_760, 8, None),
    ];
    assert_eq!(read_rows(DISKSIM), expected);
    assert_eq!(
        error_about(&DISKSIM[..DISKSIM.len() - 6]),
        "t:3: the file ends inside this line: 3 values; expected arrival device block blocks flags"
    );
    // Nanoseconds, as other simulators write this form.
    let nanoseconds = "0 0 303567 7 0\n26214000 1 240840 6 0\n78643005 1 55596 6 1\n";
    assert_eq!(
        error_about(nanoseconds),
        "t: `trace.time`: 3 requests in 78643.005000 s are one in 10.9 hours, which no device can do: timestamps are taken as \
         milliseconds; expected another unit: trace.time=ns makes it 25 a second, trace.time=100ns makes it 916 an hour, \
         trace.time=us makes it 92 an hour"
    );
    let bytes: String = (0..9).map(|i| format!("{i}.0 0 {} 4096 1\n", i * 1_048_576)).collect();
    assert_eq!(
        error_about(&bytes),
        "t: `trace.length`: every address and every size is a multiple of 512, which would be 256 KiB: DiskSim ASCII counts sectors of \
         512 bytes; expected sectors; trace.address=1 and trace.length=1 if they are in bytes, otherwise \
         trace.length=512"
    );
    let long = DISKSIM.replace("168 120 0", "168 2097153 0").replace("768 120 0", "768 2097153 0");
    assert_eq!(
        error_about(&long),
        "t: `trace.length`: request 2 by time has 1.1 GB; expected reads and writes of at most 1 GiB"
    );
    let unsorted: String = DISKSIM.lines().rev().map(|line| format!("{line}\n")).collect();
    assert_eq!(read_rows(&unsorted), expected);
}

#[test]
fn disksims_validation_form() {
    let text = "R Miss 100 8 5250.0 10000\nW Doub 7 1 500 0\nR Hit 8 1 1 1\n";
    let expected = [
        row(0, Op::Read, "0", 100, 8, Some(5_250_000)),
        row(15_250_000, Op::Write, "0", 7, 1, Some(500_000)),
        row(15_750_000, Op::Read, "0", 8, 1, Some(1_000)),
    ];
    assert_eq!(read_rows(text), expected);
    assert_eq!(
        error_about(&text.replace("Hit", "Hot")),
        "t:3: `tag`: `Hot` is invalid; expected Hit, Miss, Doub, Trip; did you mean `Hit`?"
    );
    assert!(error_about("R Miss 1 8 10 10\nR Mi").starts_with("t:2: the file ends inside this line: 2 values"));
    assert!(error_about("R Miss 1 8 99999999999 99999999999\nR Hit 1 8 1 1\n").contains("one in 55.6 hours"));
}

#[test]
fn iolog_of_three_versions() {
    let three = "fio version 3 iolog\n2 /dev/a add\n872 /dev/a open\n878 /dev/a write 0 16384\n888 /dev/a sync 0 0\n\
        891 /dev/a trim 4096 512\n99 /dev/b read 512 512\n1001 /dev/a close\n";
    let expected = [
        row(0, Op::Read, "/dev/b", 1, 1, None),
        row(779_000, Op::Write, "/dev/a", 0, 32, None),
        row(789_000, Op::Flush, "/dev/a", 0, 0, None),
        row(792_000, Op::Trim, "/dev/a", 8, 1, None),
    ];
    assert_eq!(read_rows(three), expected);
    let two = "fio version 2 iolog\nf add\nf open\nf write 4096 4096\nf wait 1000 0\nf datasync 0 0\nf wait 3000 0\nf read 0 512\n";
    let at = |text: &str| read_rows(text).iter().map(|row| row.0).collect::<Vec<_>>();
    assert_eq!(at(two), [0, 1_000_000_000, 3_000_000_000], "milliseconds from the beginning, as fio's code has it");
    let found = survey_text(&two.replace("3000", "300"), &TraceReadOptions::default()).unwrap();
    assert_eq!(
        (found.wait, found.span.nanos()),
        (Some(WaitMeaning::Relative), 1_300_000),
        "one that goes back is of microseconds"
    );
    let one = "0, 4096, 512\n1, 0, 1024\n";
    assert_eq!(read_rows(one), [row(0, Op::Read, "file", 8, 1, None), row(0, Op::Write, "file", 0, 2, None)]);
    assert_eq!(
        error_about(one),
        "t: `trace.time`: all 2 requests have the same timestamp; expected timestamps, or trace.loop=closed, which needs none"
    );
    assert_eq!(
        error_about(&three.replace("trim", "trimm")),
        "t:6: `action`: `trimm` is invalid; expected add, open, close, read, write, trim, sync, datasync, wait; did you mean \
         `trim`?"
    );
    assert_eq!(
        error_about(&three[..three.len() - 35]),
        "t:7: the file ends inside this line: 1 value; expected file action offset length"
    );
    let slow = "fio version 3 iolog\n0 f read 0 512\n1000000000000 f read 0 512\n";
    assert!(
        error_about(slow).contains("one in 277.8 hours, which no device can do: timestamps are taken as microseconds")
    );
}

const ALIBABA: &str = "419,W,8792731648,16384,1577808144360767\n725,R,59110326272,360448,1577808144360813\n";

#[test]
fn alibaba() {
    let expected =
        [row(0, Op::Write, "419", 17_173_304, 32, None), row(46_000, Op::Read, "725", 115_449_856, 704, None)];
    assert_eq!(read_rows(ALIBABA), expected);
    let one = TraceReadOptions { device: Some("725".to_owned()), ..TraceReadOptions::default() };
    assert_eq!(read_rows_with(ALIBABA.as_bytes(), &one).unwrap(), [row(0, Op::Read, "725", 115_449_856, 704, None)]);
    let none = TraceReadOptions { device: Some("726".to_owned()), ..TraceReadOptions::default() };
    assert_eq!(
        survey_text(ALIBABA, &none).unwrap_err(),
        "t: `trace.device`: no request belongs to `726`; expected 419, 725"
    );
    assert_eq!(
        error_about(&ALIBABA[..60]),
        "t:2: the file ends inside this line: 4 values; expected device_id,opcode,offset,length,timestamp"
    );
    let seconds = ALIBABA.replace("1577808144360767", "1577808144").replace("1577808144360813", "1577808144");
    assert!(error_about(&seconds).contains("all 2 requests have the same timestamp"));
    let reversed: String = ALIBABA.lines().rev().map(|line| format!("{line}\n")).collect();
    assert_eq!(read_rows(&reversed), expected);
}

const TENCENT: &str = "1538323200,12910952,128,0,1063\n1538323200,6338688,8,1,1627\n1538323201,8,8,0,1063\n";

#[test]
fn tencent() {
    let expected = [
        row(0, Op::Read, "1063", 12_910_952, 128, None),
        row(500_000_000, Op::Write, "1627", 6_338_688, 8, None),
        row(1_000_000_000, Op::Read, "1063", 8, 8, None),
    ];
    assert_eq!(read_rows(TENCENT), expected, "requests of one second are spread over it");
    assert_eq!(
        error_about(&TENCENT.replace(",1,1627", ",2,1627")),
        "t:2: `IOType`: `2` is invalid; expected 0 for a read or 1 for a write"
    );
    assert_eq!(
        error_about(&TENCENT[..TENCENT.len() - 8]),
        "t:3: the file ends inside this line: 3 values; expected Timestamp,Offset,Size,IOType,VolumeID"
    );
    let bytes: String = (0..9).map(|i| format!("15383232{i:02},{},4096,0,1\n", i * 1_048_576)).collect();
    assert!(error_about(&bytes).contains("Tencent (2018) counts sectors of 512 bytes"));
    let late_first = format!("1538323202,8,8,0,1063\n{TENCENT}");
    assert_eq!(survey_text(&late_first, &TraceReadOptions::default()).unwrap().met.reordered, 3);
}

const BIOSNOOP: &str = "Tracing block device I/O... Hit Ctrl-C to end.\n\
    TIME(s)     COMM           PID    DISK    T SECTOR     BYTES   LAT(ms)\n\
    0.000004    supervise      1950   xvda1   W 13092560   4096       0.74\n\
    0.011969    my program     1950   xvda1   R 13092432   1024       0.60\n";

#[test]
fn biosnoop() {
    let expected = [
        row(0, Op::Write, "xvda1", 13_092_560, 8, Some(740_000)),
        row(12_105_000, Op::Read, "xvda1", 13_092_432, 2, Some(600_000)),
    ];
    assert_eq!(read_rows(BIOSNOOP), expected, "a line is printed when its request is over");
    let queued = BIOSNOOP.replace("LAT(ms)", "QUE(ms) LAT(ms)").replace("0.74", "0.26 0.74").replace("0.60", "0.4 0.6");
    let responses: Vec<_> = read_rows(&queued).iter().map(|row| row.5).collect();
    assert_eq!(responses, [Some(1_000_000), Some(1_000_000)]);
    assert_eq!(
        error_about(&BIOSNOOP[..BIOSNOOP.len() - 20]),
        "t:4: the file ends inside this line: 7 values; expected TIME(s) COMM PID DISK T SECTOR BYTES [QUE(ms)] LAT(ms)"
    );
    let milliseconds = BIOSNOOP.replace("0.000004", "4000.5").replace("0.011969", "99000000.25");
    assert!(error_about(&milliseconds).contains("timestamps are taken as seconds"), "{}", error_about(&milliseconds));
    let late = BIOSNOOP.replace("0.60", "20.0");
    assert_eq!(
        survey_text(&late, &TraceReadOptions::default()).unwrap().met.reordered,
        1,
        "it began first and ended last"
    );
}

const BLKPARSE: &str = "  8,16   5        1     0.000000000 18615  A   R 1444645666 + 256 <- (8,17) 1444645632\n\
    \x20 8,16   5        2     0.000001850 18615  Q   R 1444645666 + 8 [java]\n\
    \x20 8,16   5        3     0.000006438 18615  Q   R 1444645674 + 8 [a b]\n\
    \x20 8,16   5        4     0.000007000 18615  P   N [java]\n\
    \x20 8,16   5        5     0.000008000 18615  D   R 1444645666 + 16 [java]\n\
    \x20 8,16   5        6     0.000009000 18615  Q FWFS 8 + 8 [jbd2/sda1-8]\n\
    \x20 8,16   5        7     0.000010000     0  C   R 1444645666 + 16 [0]\n\
    \x20 8,16   5        8     0.000011000 18615  Q FWS [java]\n\
    \x20 8,16   5        9     0.000012000 18615  Q   D 64 + 64 [java]\n\
    CPU0 (8,16):\n Reads Queued:           2,       8KiB\n";

#[test]
fn blkparse() {
    let expected = [
        row(0, Op::Read, "8,16", 1_444_645_666, 8, Some(8_150)),
        row(4_588, Op::Read, "8,16", 1_444_645_674, 8, Some(3_562)),
        row(7_150, Op::Flush, "8,16", 0, 0, None),
        row(7_150, Op::Write, "8,16", 8, 8, None),
        row(9_150, Op::Flush, "8,16", 0, 0, None),
        row(10_150, Op::Trim, "8,16", 64, 64, None),
    ];
    assert_eq!(read_rows(BLKPARSE), expected);
    let issued = TraceReadOptions { event: KernelEvent::Issued, ..TraceReadOptions::default() };
    assert_eq!(
        read_rows_with(BLKPARSE.as_bytes(), &issued).unwrap(),
        [row(0, Op::Read, "8,16", 1_444_645_666, 16, Some(2_000))]
    );
    let none = BLKPARSE.replace(" Q ", " I ");
    assert_eq!(
        error_about(&none),
        "t: `trace.event`: none of its 8 records is an event Q of a request; expected a trace of these, or trace.event=issued"
    );
    let slip = BLKPARSE.replace(" P ", " Y ");
    assert!(
        error_about(&slip).starts_with("t:4: `action`: `Y` is invalid; expected Q, M, F,"),
        "{}",
        error_about(&slip)
    );
    let cut = &BLKPARSE[..BLKPARSE.find(" 0.000009").unwrap()];
    assert!(
        error_about(cut).starts_with("t:6: the file ends inside this line: 3 values; expected major,minor cpu"),
        "{}",
        error_about(cut)
    );
    let unit = survey_text(BLKPARSE, &TraceReadOptions { time: Some(1), ..TraceReadOptions::default() });
    assert_eq!(
        unit.unwrap_err(),
        "t: `trace.time`: blkparse's text has no such setting; expected no unit of time, which is fixed"
    );
    let unsorted = BLKPARSE.replace("0.000001850", "0.000006900");
    assert_eq!(survey_text(&unsorted, &TraceReadOptions::default()).unwrap().met.reordered, 1);
    let wrong: String = BLKPARSE.replace("0.0000", "98765.0").replace("98765.000000000", "0.000000000");
    let wrong = wrong.replace("98765.001850", "1.0");
    assert!(survey_text(&wrong, &TraceReadOptions::default()).unwrap_err().contains("which no device can do"));
}

/// Time in nanoseconds, sector and bytes of a record.
type RecordFields = (u64, u64, u32);

/// The bytes of a record of version 7 or 8, with `extra` behind it.
fn write_record(version: u8, is_big_endian: bool, fields: RecordFields, action: u64, extra: &[u8]) -> Vec<u8> {
    let (at_ns, sector, bytes) = fields;
    let (u16s, u32s, u64s) = (
        |number: u16| if is_big_endian { number.to_be_bytes() } else { number.to_le_bytes() },
        |number: u32| if is_big_endian { number.to_be_bytes() } else { number.to_le_bytes() },
        |number: u64| if is_big_endian { number.to_be_bytes() } else { number.to_le_bytes() },
    );
    let mut all = [u32s(0x6561_7400 | u32::from(version)), u32s(1)].concat();
    all.extend([u64s(at_ns), u64s(sector)].concat());
    let device = u32s(8 << 20 | 16);
    match version {
        7 => all.extend([u32s(bytes), u32s(action as u32), u32s(9), device, u32s(0)].concat()),
        _ => {
            all.extend([u32s(bytes), u32s(9)].concat());
            all.extend(u64s(action));
            all.extend([device, u32s(0)].concat());
        }
    }
    all.extend([u16s(0), u16s(extra.len() as u16)].concat());
    all.extend(vec![0; if version == 8 { 12 } else { 0 }]);
    all.extend(extra);
    all
}

const QUEUE: u64 = 1;
const COMPLETE: u64 = 8;
const READ: u64 = 1 << 16;
const WRITE: u64 = 2 << 16;
const NOTIFY: u64 = 0x400 << 16;
const FUA: u64 = 0x8000 << 16;

/// Writes five records: a note, two requests, the completion of the first, and another event.
fn write_records(version: u8, is_big_endian: bool) -> Vec<u8> {
    let record = |fields, action, extra: &[u8]| write_record(version, is_big_endian, fields, action, extra);
    [
        record((0, 0, 0), NOTIFY, b"kworker/0:1H\0\0\0\0"),
        record((5_000, 800, 4_096), QUEUE | READ, b""),
        record((9_000, 64, 512), QUEUE | WRITE | FUA, b"abc"),
        record((45_000, 800, 4_096), COMPLETE | READ, b""),
        record((49_000, 0, 8_192), 6 | 9 << 16, b""),
    ]
    .concat()
}

#[test]
fn blktrace_of_both_versions_and_orders() {
    let expected = [row(0, Op::Read, "8,16", 800, 8, Some(40_000)), row(4_000, Op::Write, "8,16", 64, 1, None)];
    for (version, big) in [(7, false), (7, true), (8, false), (8, true)] {
        let bytes = write_records(version, big);
        assert_eq!(
            read_rows_with(&bytes, &TraceReadOptions::default()).unwrap(),
            expected,
            "version {version}, big-endian {big}"
        );
        let mut reader = open(vec![trace_part(&bytes)], &TraceReadOptions::default()).unwrap();
        assert_eq!(
            (reader.format, reader.read().unwrap().map(|entry| entry.fua)),
            (TraceFormat::Blktrace, Some(false))
        );
        assert_eq!(reader.read().unwrap().map(|entry| entry.fua), Some(true));
    }
}

#[test]
fn blktrace_of_several_processors_is_one_and_faults_have_their_place() {
    let bytes = write_records(7, false);
    let other = write_record(7, false, (7_000, 8, 512), QUEUE | READ, b"");
    let mut reader = open(vec![trace_part(&bytes), trace_part(&other)], &TraceReadOptions::default()).unwrap();
    let entries = std::iter::from_fn(|| reader.read().unwrap());
    assert_eq!(entries.map(|entry| entry.lba).collect::<Vec<_>>(), [800, 8, 64], "by their instants");
    let fault = |bytes: &[u8]| read_rows_with(bytes, &TraceReadOptions::default()).unwrap_err().to_string();
    assert_eq!(
        fault(&bytes[..bytes.len() - 8]),
        "t: record 5 at byte 211: the file ends inside the record: 40 of 48 bytes; expected complete records; the first 211 \
         bytes hold only complete ones"
    );
    let mut torn = bytes.clone();
    torn[64] = b'x';
    assert_eq!(fault(&torn), "t: record 2 at byte 64: unsupported version 120; expected version 7 or 8");
    torn[65] = b'x';
    assert_eq!(
        fault(&torn),
        "t: record 2 at byte 64: no record starts here; expected a record that starts with 0x65617400, with 7 or 8 in its last byte"
    );
    let parts = || Ok(vec![trace_part(&write_record(7, false, (5, 0, 512), 7 | READ, b""))]);
    let error = survey(&parts, &TraceReadOptions::default(), false).unwrap_err().to_string();
    assert!(error.ends_with("expected a trace of these, or trace.event=issued"), "{error}");
    // Slower than an hour each, in nanoseconds.
    let slow = [(0, 0, 512), (9_000_000_000_000, 8, 512)]
        .map(|fields| write_record(7, false, fields, QUEUE | READ, b""))
        .concat();
    let found = survey(&|| Ok(vec![trace_part(&slow)]), &TraceReadOptions::default(), false).unwrap();
    let error = found.check_timestamps("t", &TraceReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("2 requests in 9000.000000 s are one in 2.5 hours"), "{error}");
    let turned =
        [(9_000, 0, 512), (5_000, 8, 512)].map(|fields| write_record(7, false, fields, QUEUE | READ, b"")).concat();
    let found = survey(&|| Ok(vec![trace_part(&turned)]), &TraceReadOptions::default(), false).unwrap();
    assert_eq!(found.met.reordered, 1);
}

#[test]
fn our_own_recording() {
    let text = "# seekwise recording 1\n# a drive\nstamp,at_ns,done_ns,status,op,lba,sectors,fua,tag\n\
        2,500,900,done,write,64,8,1,1\n1,100,1000,done,read,0,8,0,0\norder,950,cut\n";
    let expected = [row(0, Op::Read, "disk", 0, 8, Some(900)), row(400, Op::Write, "disk", 64, 8, Some(400))];
    assert_eq!(read_rows(text), expected);
    let met = open(vec![trace_part(text.as_bytes())], &TraceReadOptions::default()).map(|mut reader| {
        while reader.read().unwrap().is_some() {}
        reader.counts()
    });
    assert_eq!(met.map(|met| (met.reordered, met.passed_over)).unwrap(), (1, 1));
    let fault =
        read_rows_with(text.replace("done,read", "done,reed").as_bytes(), &TraceReadOptions::default()).unwrap_err();
    assert_eq!(fault.to_string(), "t:5: `op`: `reed` is invalid; expected read, write, flush or trim");
    assert!(
        error_about(&text[..text.find("done,read").unwrap()])
            .starts_with("t:5: the file ends inside this line: 4 values")
    );
}

/// The guide's table of formats is that of the program.
#[test]
fn the_guide_has_every_format() {
    let guide = include_str!("../../../docs/traces.md");
    for known in FORMATS {
        let row = guide.lines().find(|line| line.starts_with(&format!("| `{}` | {} |", known.word, known.title)));
        let row = row.unwrap_or_else(|| panic!("the guide has no row of {}", known.word));
        let counted = |bytes: u64| if bytes == 1 { "bytes" } else { "sectors" };
        let TraceUnits { time, address, length } = known.units;
        let response = if known.responses { "yes" } else { "no" };
        let end = format!("| {} | {} | {} | {response} |", time_unit_name(time), counted(address), counted(length));
        assert!(row.ends_with(&end), "{row}: {end}");
    }
}

#[test]
fn what_is_no_trace_is_told_what_one_is() {
    assert_eq!(
        error_about("[a]\nrw=read\n"),
        "t:1: `[a]` does not start a trace of a known format; expected one of blktrace, blkparse, msr, spc, disksim, validation, iolog, \
         alibaba, tencent, biosnoop, recording; set trace.format=NAME to name it"
    );
    assert_eq!(error_about(""), "t: the file is empty; expected a trace");
    let named = TraceReadOptions { format: Some(TraceFormat::Msr), ..TraceReadOptions::default() };
    assert!(survey_text("1,2,3\n", &named).unwrap_err().starts_with("t:1: 3 values; expected Timestamp,Hostname"));
    let long = format!("{}\n{}\n", SPC.trim_end(), "9".repeat(70_000));
    assert_eq!(error_about(&long), "t:4: the line is longer than 65536 bytes");
}
