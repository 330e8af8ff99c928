//! Toy fits for tests: the loss of each point is a formula, so that the expected end of a search or a judgement follows by hand. An
//! evaluator knows the answers for every point of the ranges beforehand, and simulates nothing.

use seekwise_drives::key_names::figure;

use super::*;
use crate::catalogue;
use crate::fit::parameter::{FigureMark, ParameterDomain};
use crate::fit::points::{MeasuredFigure, MeasuredPoint, PointWork};
use crate::fit::ranges::ParameterRange;

/// The loss of a point: the whole's, or that of a draw.
pub(crate) type ToyLoss<'a> = &'a dyn Fn(&[f64], Option<usize>) -> f64;

/// A drive with some parameters, and the answers for all of their points.
pub(crate) struct Toy {
    drive: DriveFile,
    pub parameters: Vec<Parameter>,
    pub data: Vec<FitData>,
    known: BTreeMap<String, Vec<f64>>,
}

/// Keys whose figures are times from nothing on.
const KEYS: [&str; 4] = [
    figure::OVERHEAD_READ_HIT_MS,
    figure::OVERHEAD_WRITE_HIT_MS,
    figure::OVERHEAD_READ_MISS_MS,
    figure::OVERHEAD_WRITE_MISS_MS,
];

/// The number `index` of a toy: from 0 to so many thousandths, a thousandth a step.
pub fn number(index: usize, thousandths: u32, origin: f64) -> Parameter {
    let range = ParameterRange { low: 0.0, high: f64::from(thousandths) / 1000.0, step: 0.001, log: false };
    let (name, key) = (KEYS[index].to_owned(), KEYS[index]);
    Parameter { name, key, bend: None, form: ParameterDomain::Number(range), origin, marked: FigureMark::Inferred }
}

/// A rule whose choices are numbers; the first is the profile's.
pub fn rule(words: &[&str]) -> Parameter {
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    let key = figure::CACHE_READ_AHEAD_AFTER;
    let form = ParameterDomain::Choice(words);
    Parameter { name: key.to_owned(), key, bend: None, form, origin: 0.0, marked: FigureMark::Inferred }
}

/// All values of a parameter.
fn values(parameter: &Parameter) -> Vec<f64> {
    match &parameter.form {
        ParameterDomain::Choice(words) => (0..words.len()).map(|word| word as f64).collect(),
        ParameterDomain::Number(range) => {
            let steps = (range.high / range.step).round() as u32;
            (0..=steps).map(|step| range.round_to_step(f64::from(step) * range.step)).collect()
        }
    }
}

/// A job that is held back; nothing is seen of it.
fn held_back() -> MeasuredPoint {
    MeasuredPoint {
        what: "toy".to_owned(),
        file: "toy".to_owned(),
        line: 0,
        series: String::new(),
        order: 0.0,
        held: true,
        kept_out: false,
        load: None,
        settings: Vec::new(),
        work: PointWork::Step(1, 1),
        request_limit: 1,
        measured_requests: 0,
        figures: vec![MeasuredFigure { name: "mean".to_owned(), measured: 1.0, error: 0.0 }],
    }
}

impl Toy {
    /// A fit of `parameters` with the losses `seen`, and `held` of what is held back, if anything is.
    pub fn new(parameters: Vec<Parameter>, seen: ToyLoss<'_>, held: Option<ToyLoss<'_>>) -> Toy {
        let mut points: Vec<Vec<f64>> = vec![Vec::new()];
        for values in parameters.iter().map(values) {
            let longer =
                |point: &Vec<f64>| values.iter().map(|value| [&point[..], &[*value]].concat()).collect::<Vec<_>>();
            points = points.iter().flat_map(longer).collect();
        }
        let mut known = BTreeMap::new();
        for point in &points {
            let mut add = |question: Question, loss: ToyLoss<'_>| {
                let draws = (1..answer_length(question)).map(|draw| loss(point, Some(draw - 1)));
                let answer = std::iter::once(loss(point, None)).chain(draws).collect();
                known.insert(journal_key("", &format!("{question:?}"), point), answer);
            };
            add(Question::Seen, seen);
            add(Question::Drawn, seen);
            held.into_iter().for_each(|held| add(Question::Held, held));
        }
        // Two kinds of data: of one list of jobs alone the losses would be computed from its figures.
        let data = match held {
            Some(_) => vec![FitData::Points(vec![held_back()]), FitData::Points(Vec::new())],
            None => Vec::new(),
        };
        Toy { drive: catalogue::load_drive("barracuda-7200.7").expect("built in"), parameters, data, known }
    }

    /// An evaluator that knows all answers.
    pub fn evaluator(&self) -> PointEvaluator<'_> {
        let listener = FitListener::never_ending(&|_| ());
        PointEvaluator::new(&self.drive, &self.parameters, &self.data, self.known.clone(), listener)
    }

    /// The profile's point.
    pub fn origin(&self) -> Vec<f64> {
        self.parameters.iter().map(|parameter| parameter.origin).collect()
    }
}
