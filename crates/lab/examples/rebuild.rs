//! The whole rebuild of a RAID 5 of four 18 TB drives under a foreground load, in virtual time: how long it takes, what
//! the load's latency is before, while a drive is missing, during and after, and for how long one more loss would be the
//! end of the data.
//!
//! ```text
//! cargo run --release -p seekwise-lab --example rebuild -- [OUT.svg] [REQUESTS A SECOND]
//! ```

use std::error::Error;
use std::time::Instant as Clock;

use plotters::prelude::*;
use seekwise_disk::block::setting::{ArraySetting, LayerSetting};
use seekwise_disk::block::{Control, Device};
use seekwise_disk::engine::Engine;
use seekwise_disk::host::array::Array;
use seekwise_disk::host::layer::LayeredDevice;
use seekwise_disk::record::Record;
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::build_below_array;
use seekwise_disk::time::{Instant, Span};
use seekwise_drives::stack::StackFile;
use seekwise_lab::catalogue;
use seekwise_lab::inputs::Inputs;
use seekwise_lab::stats::histogram::Histogram;
use seekwise_run::work::Issuer;

const HOUR: Span = Span::from_secs(3600);
/// Percentiles are drawn one for each of these.
const STRETCH: Span = Span::from_secs(600);

/// Reads and writes of 8 KiB, seven to three, arriving at random over the whole array.
fn job(rate: u32) -> String {
    let (reads, writes) = (rate * 7 / 10, rate - rate * 7 / 10);
    format!(
        "[load]\nioengine=libaio\ndirect=1\nfilename=/dev/md0\nrw=randrw\nrwmixread=70\nbs=8k\nnorandommap=1\n\
         iodepth=256\nrate_iops={reads},{writes}\nrate_process=poisson\ntime_based=1\nruntime=1000h\n"
    )
}

/// A stretch of the run.
struct Point {
    hour: f64,
    phase: usize,
    latency: Histogram,
}

const PHASES: [&str; 4] = ["before", "one drive missing", "rebuild", "after"];
const SHARES: [(&str, f64); 3] = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)];

struct Run {
    engine: Engine<Issuer, LayeredDevice<Array>>,
    points: Vec<Point>,
}

impl Run {
    fn new(rate: u32) -> Result<Run, Box<dyn Error>> {
        let mut file = StackFile::named_drive("exos-x18");
        for (key, value) in [("array", "raid-5"), ("array.drives", "4"), ("controller", "ahci"), ("driver", "none")] {
            file.set(key, value).map_err(said)?;
        }
        let text = |name: &str| Ok(catalogue::find_text(name).unwrap_or_default().to_owned());
        let built = file.build(&text).map_err(said)?;
        let (spec, below) = built.stack.array().cloned().zip(built.stack.layers.split_last()).ok_or("no array")?;
        let drives = &mut |number| -> Box<dyn Device> { Box::new(built.stack.build_drive(Seed(1), number)) };
        let array = Array::build_above(spec.clone(), build_below_array(below.1, spec.members, drives));
        let read = |_: &str| Ok(job(rate));
        let loaded = seekwise_lab::jobs::load_job("load.fio", array.limits(0).sectors, &Inputs::from_today(&read), &[])
            .map_err(said)?;
        let source = loaded.job.make_source(Seed(1))(&array.limits(0)).map_err(|error| error.to_string())?;
        Ok(Run { engine: Engine::new(source, array), points: Vec::new() })
    }

    /// Runs a stretch in `phase`.
    fn go_on(&mut self, phase: usize) -> Result<(), Box<dyn Error>> {
        let mut latency = Histogram::default();
        let from = self.engine.now();
        let take = &mut |record: &Record| latency.record(record.time_since_due());
        self.engine.run(from + STRETCH, take).map_err(|stuck| format!("{stuck:?}"))?;
        self.points.push(Point { hour: from.nanos() as f64 / 3.6e12, phase, latency });
        Ok(())
    }

    fn hours(&mut self, phase: usize, hours: u64) -> Result<(), Box<dyn Error>> {
        let end = self.engine.now() + HOUR.times(hours);
        while self.engine.now() < end {
            self.go_on(phase)?;
        }
        Ok(())
    }

    fn set(&mut self, setting: ArraySetting) -> Result<(), Box<dyn Error>> {
        let set = Control::Set(LayerSetting::Array(setting));
        Ok(self.engine.control(&set).map_err(|error| format!("{setting:?}: {error:?}"))?)
    }

    /// All stretches of a phase together.
    fn phase(&self, phase: usize) -> Histogram {
        let mut all = Histogram::default();
        self.points.iter().filter(|point| point.phase == phase).for_each(|point| all.merge(&point.latency));
        all
    }

    fn ended(&self) -> Option<Instant> {
        self.engine.device().layer().sync_progress().ended
    }
}

fn said(faults: Vec<seekwise_drives::diagnostic::Diagnostic>) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let picture = arguments.next().unwrap_or_else(|| "rebuild.svg".to_owned());
    let rate = arguments.next().map_or(Ok(50), |text| text.parse())?;
    let clock = Clock::now();
    let mut run = Run::new(rate)?;
    run.hours(0, 2)?;
    let lost = run.engine.now();
    run.set(ArraySetting::Lose(1))?;
    run.hours(1, 1)?;
    run.set(ArraySetting::Replace(1))?;
    while run.ended().is_none() {
        run.go_on(2)?;
    }
    run.hours(3, 2)?;
    let progress = run.engine.device().layer().sync_progress();
    let (began, ended) = progress.began.zip(progress.ended).ok_or("no rebuild")?;
    let hours = |span: Span| span.nanos() as f64 / 3.6e12;
    let bytes = progress.sectors as f64 * 512.0;
    println!("rebuild of {:.2} TB at {rate} requests/s: {:.2} h", bytes / 1e12, hours(ended.since(began)));
    println!(
        "rate {:.1} MB/s; at risk {:.2} h",
        bytes / 1e6 / (hours(ended.since(began)) * 3600.0),
        hours(ended.since(lost))
    );
    for (phase, name) in PHASES.iter().enumerate() {
        let latency = run.phase(phase);
        let at = |share| latency.quantile(share).map_or(0.0, |span| span.nanos() as f64 / 1e6);
        let figures: Vec<String> = SHARES.iter().map(|&(name, share)| format!("{name} {:8.2} ms", at(share))).collect();
        println!("{name:>18}: {:>8} requests, {}", latency.count(), figures.join(", "));
    }
    println!("failed requests: {}; not readable: {} sectors", run.engine.failures(), progress.unread);
    println!("waited for users {} times, slept {} times", progress.drains, progress.sleeps);
    println!("wall clock: {:.1} s", clock.elapsed().as_secs_f64());
    draw(&run.points, &picture)
}

/// Percentiles over the hours of the run, the axis of latency in decades.
fn draw(points: &[Point], path: &str) -> Result<(), Box<dyn Error>> {
    let root = SVGBackend::new(path, (960, 480)).into_drawing_area();
    root.fill(&WHITE)?;
    let last = points.last().map_or(1.0, |point| point.hour);
    let mut chart = ChartBuilder::on(&root)
        .caption("Latency of the foreground before, during and after a rebuild", ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..last, (1.0..10_000.0).log_scale())?;
    chart.configure_mesh().x_desc("hours").y_desc("ms").draw()?;
    for (index, &(name, share)) in SHARES.iter().enumerate() {
        let color = Palette99::pick(index).to_rgba();
        let at = |point: &Point| point.latency.quantile(share).map(|span| (point.hour, span.nanos() as f64 / 1e6));
        let line = LineSeries::new(points.iter().filter_map(at), color);
        chart.draw_series(line)?.label(name).legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color));
    }
    chart.configure_series_labels().border_style(BLACK).draw()?;
    root.present()?;
    println!("picture: {path}");
    Ok(())
}
