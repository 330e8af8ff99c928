//! Observers of long work: they hear how far it is, and say whether it is to go on.

/// Watches long work. All methods have a default that does nothing; `()` watches nothing.
pub trait Observer: Sync {
    /// Work of `total` steps begins, of which `done` need not be done again; `total` is `None` if nobody knows how many
    /// there are. `unit` says what a step is (`runs`, `requests`, [`PILOT_RUNS`]).
    fn begin_work(&self, _total: Option<u64>, _done: u64, _unit: &'static str) {}
    /// So many steps are done now.
    fn report_done(&self, _done: u64) {}
    /// Work of this name is being done now, such as a study or a stage of a fit.
    fn report_work(&self, _name: &str) {}
    /// Whether the work is to end, with [`Error::is_cancelled`](crate::Error::is_cancelled). A run, a validation and
    /// power cuts ask every 1024 requests in virtual time, and before each request in real time. Work of several runs
    /// asks within each of them, and keeps those that are complete. A fit asks before each point, and keeps the points
    /// that it tried.
    fn is_cancelled(&self) -> bool {
        false
    }
    /// Whether the best of a fit so far is enough. A fit asks before each point; it then judges and returns the best,
    /// and says that it ended early. Its points are kept, so that it can be resumed. No other work asks.
    fn is_enough(&self) -> bool {
        false
    }
}

/// The unit of pilot runs, which find how long the runs of a study are to be. None of them is kept.
pub const PILOT_RUNS: &str = "pilot runs";

/// Watches nothing.
impl Observer for () {}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};

    use crate::fit::{self, Fit};
    use crate::power_cut::{CutTime, power_cut};
    use crate::run::{PreparedRun, RunOptions};
    use crate::study::{self, StudyOptions};
    use crate::validate::{ValidationOptions, validate};
    use crate::{Bounds, Files, Observer, Setup};

    /// Cancels at this question.
    struct CancelAt {
        question: u64,
        asked: AtomicU64,
    }

    impl CancelAt {
        fn question(question: u64) -> CancelAt {
            CancelAt { question, asked: AtomicU64::new(0) }
        }
    }

    impl Observer for CancelAt {
        fn is_cancelled(&self) -> bool {
            1 + self.asked.fetch_add(1, Ordering::Relaxed) >= self.question
        }
    }

    #[test]
    fn a_run_ends_soon_after_it_is_cancelled_and_not_otherwise() {
        let setup = Setup::new("random-read", "exos-x18").with_runtime("600 s");
        let counted = |observer: &dyn Observer| {
            let mut count = 0;
            let ran = PreparedRun::new(&setup).unwrap().run(&RunOptions::default(), observer, &mut |_| count += 1);
            let error = ran.map(drop).expect_err("it is cancelled");
            assert!(error.is_cancelled() && error.run().is_some(), "{error}");
            count
        };
        assert_eq!(counted(&CancelAt::question(1)), 0);
        let count = counted(&CancelAt::question(5));
        // The source acts at least once for each request, and was asked every 1024 times.
        assert!((500..=4 << 10).contains(&count), "{count}");
    }

    #[test]
    fn power_cuts_are_cancelled_within_a_run() {
        let setup = Setup::new("random-write", "barracuda-7200.7").with_runtime("600 s");
        for when in [CutTime::Random(9), CutTime::Off(9)] {
            let cut = power_cut(&setup, when, &Bounds::new(None), &CancelAt::question(3));
            assert!(cut.map(drop).unwrap_err().is_cancelled());
        }
    }

    /// A measured trace of so many requests, one in flight.
    fn trace(rows: u64) -> String {
        let row = |at: u64| format!("R,{},8,{},0\n", at * 7_919 % 400_000_000, 4 + at % 7);
        format!("op,lba,sectors,measured_response_ms,think_ms\n{}", (0..rows).map(row).collect::<String>())
    }

    #[test]
    fn a_study_is_cancelled_within_its_pilots_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (file, out) = (folder.path().join("s.toml"), folder.path().join("out"));
        let text = "title = 't'\nquestion = 'q'\nruns = 5\nruntime = '600 s'\njob = 'random-read'\n[stack]\n\
            drive = 'exos-x18'\n[[factor]]\nname = 'depth'\nkey = 'job.depth'\nlevels = [1, 4]\n[[compare]]\nname = 'c'\n\
            factor = 'depth'\nfrom = 1\nto = 4\n";
        fs::write(&file, text).unwrap();
        let options = StudyOptions::into(&out);
        let error = study::study(file.to_str().unwrap(), &options, &CancelAt::question(1)).map(drop).unwrap_err();
        assert!(error.is_cancelled() && !out.exists(), "{error}");
    }

    #[test]
    fn a_validation_is_cancelled_within_its_trace() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        fs::write(&path, trace(20_000)).unwrap();
        let files = Files::default();
        let options = ValidationOptions::new(&files, "atlas-10k-v-300");
        let observer = CancelAt::question(3);
        let error = validate(&path.to_string_lossy(), &options, &observer).map(drop).unwrap_err();
        assert!(error.is_cancelled(), "{error}");
        assert_eq!(observer.asked.into_inner(), 3, "the rest was not played");
        assert_eq!(validate(&path.to_string_lossy(), &options, &()).unwrap().errors.all.n, 20_000);
    }

    /// Half of the trace at `path` is held back, and one generation tried.
    fn fit_of(path: &Path, only: &[&str], out: PathBuf) -> Fit {
        let only = only.iter().map(|key| (*key).to_owned()).collect();
        let data = vec![path.to_string_lossy().into_owned()];
        Fit { only, generations: Some(1), ..Fit::new(data, "atlas-10k-v-300", out) }
    }

    #[test]
    fn a_cancelled_fit_keeps_its_points_and_writes_no_profile() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        fs::write(&path, trace(400)).unwrap();
        let asked = fit_of(&path, &[], folder.path().join("fitted.toml"));
        // It first asks what each key can move; of a trace these simulations are not kept, and made again.
        let error = fit::fit(&asked, &CancelAt::question(400)).map(drop).unwrap_err();
        assert!(error.is_cancelled(), "{error}");
        let journal = fs::read_to_string(folder.path().join("fitted.toml.journal")).expect("the points are kept");
        assert!(journal.lines().count() > 5, "{journal}");
        assert!(!asked.out.exists());
    }

    /// Counts what begins, and keeps what is being done.
    #[derive(Default)]
    struct StageWords {
        begun: AtomicU64,
        doing: Mutex<Vec<String>>,
    }

    impl Observer for StageWords {
        fn begin_work(&self, _: Option<u64>, _: u64, _: &'static str) {
            self.begun.fetch_add(1, Ordering::Relaxed);
        }
        fn report_work(&self, what: &str) {
            self.doing.lock().unwrap().push(what.to_owned());
        }
    }

    /// Has enough at this question.
    struct EnoughAt(CancelAt);

    impl Observer for EnoughAt {
        fn is_enough(&self) -> bool {
            self.0.is_cancelled()
        }
    }

    #[test]
    fn a_fit_of_which_there_is_enough_writes_its_best_and_goes_on_to_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        fs::write(&path, trace(400)).unwrap();
        let whole = fit_of(&path, &["overhead"], folder.path().join("whole").join("fitted.toml"));
        let early = Fit { out: folder.path().join("early").join("fitted.toml"), ..whole.clone() };
        for fit in [&whole, &early] {
            fs::create_dir(fit.out.parent().unwrap()).unwrap();
        }
        let words = StageWords::default();
        let complete = fit::fit(&whole, &words).unwrap();
        assert!(complete.ending.is_none() && complete.tried > 20, "{complete:?}");
        // The fit begins, and each stage, which is named; besides, the loss is told whenever it falls.
        let (begun, doing) = (words.begun.into_inner(), words.doing.into_inner().unwrap());
        let losses: Vec<f64> = doing.iter().filter_map(|what| what.rsplit_once(": ")?.1.parse().ok()).collect();
        assert!(doing.len() as u64 >= begun && losses.is_sorted_by(|before, loss| before >= loss), "{begun} {doing:?}");
        let report = fit::fit(&early, &EnoughAt(CancelAt::question(400))).unwrap();
        assert!(report.ending.is_some() && report.warnings.iter().any(|said| said.contains("best so far")));
        assert!(report.seen.after <= report.seen.before, "{report:?}");
        let journal = folder.path().join("early").join("fitted.toml.journal");
        assert!(early.out.exists() && journal.exists());
        fit::fit(&Fit { resume: true, ..early.clone() }, &()).unwrap();
        assert!(!journal.exists());
        assert_eq!(fs::read_to_string(&early.out).unwrap(), fs::read_to_string(&whole.out).unwrap());
        // A number of points ends it at the same place each time.
        let bounded = |name: &str| {
            let out = folder.path().join(name).join("fitted.toml");
            fs::create_dir(out.parent().unwrap()).unwrap();
            let report = fit::fit(&Fit { points: Some(25), out: out.clone(), ..whole.clone() }, &()).unwrap();
            (report.ending.expect("25 points are few"), fs::read_to_string(out).unwrap())
        };
        let written = bounded("one");
        assert_eq!(written, bounded("two"));
        let fitted = fit::fit_in_memory(&Fit { points: Some(25), ..whole.clone() }, &()).unwrap();
        assert_eq!(Some(written), fitted.report.ending.zip(Some(fitted.profile)), "in memory");
    }
}
