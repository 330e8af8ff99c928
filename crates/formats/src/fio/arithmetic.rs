//! Evaluates fio's arithmetic: `(2 * 4k + 1m)` in values, and `8*1024*$pagesize`, which fio hands to `bc` after it has replaced
//! the keyword.
//!
//! The rules are those of fio's expression grammar: + and - bind loosest, then * and /, then ^ (to the right), then %, then a
//! unit. Whole numbers stay whole (5 / 2 is 2); a decimal makes the result real, cut to a whole number at the end.

/// An intermediate value.
#[derive(Clone, Copy, Debug)]
enum Number {
    Whole(i128),
    Real(f64),
}

use Number::{Real, Whole};

impl Number {
    fn as_real(self) -> f64 {
        match self {
            Whole(n) => n as f64,
            Real(x) => x,
        }
    }
}

/// The units of a value, and the factor of a number without a unit.
#[derive(Clone, Copy)]
pub(super) struct NumberUnits {
    /// True for a time, where `m` is a minute; false for a size, where `m` is a mebibyte.
    pub(super) is_time: bool,
    /// The factor if the expression has no unit at all.
    pub(super) implied_factor: i128,
}

/// A reader of one expression.
struct ArithmeticReader<'a> {
    /// The text that is not read yet.
    rest: &'a str,
    units: NumberUnits,
    has_unit: bool,
    depth: usize,
}

/// The deepest nesting of parentheses.
const DEEPEST_NESTING: usize = 64;

/// The value of an expression with units: bytes, or microseconds for a time.
pub(super) fn evaluate_with_units(text: &str, units: NumberUnits) -> Result<i128, String> {
    let mut reader = ArithmeticReader { rest: text, units, has_unit: false, depth: 0 };
    let value = reader.read_sum()?;
    if !reader.rest.trim().is_empty() {
        return Err(format!("unexpected `{}` in an expression", reader.rest.trim()));
    }
    let value = if reader.has_unit { value } else { multiply(value, Whole(units.implied_factor))? };
    match value {
        Whole(n) => Ok(n),
        Real(x) if x.is_finite() && x.abs() < 1e18 => Ok(x as i128),
        Real(_) => Err("the expression has no value".to_owned()),
    }
}

/// The value of an expression of plain numbers.
pub(super) fn evaluate_plain(text: &str) -> Result<i128, String> {
    evaluate_with_units(text, NumberUnits { is_time: false, implied_factor: 1 })
}

/// Applies an operation: on whole numbers if both are whole, else on real ones.
fn combine_numbers(
    a: Number,
    b: Number,
    on_whole: fn(i128, i128) -> Option<i128>,
    on_real: fn(f64, f64) -> f64,
) -> Result<Number, String> {
    match (a, b) {
        (Whole(a), Whole(b)) => on_whole(a, b).map(Whole).ok_or_else(|| "the expression has no value".to_owned()),
        _ => Ok(Real(on_real(a.as_real(), b.as_real()))),
    }
}

fn multiply(a: Number, b: Number) -> Result<Number, String> {
    combine_numbers(a, b, i128::checked_mul, |a, b| a * b)
}

fn checked_power(base: i128, exponent: i128) -> Option<i128> {
    base.checked_pow(u32::try_from(exponent).ok()?)
}

impl ArithmeticReader<'_> {
    /// Advances past one of these operators, if it is next, and returns it.
    fn take_operator(&mut self, operators: &[char]) -> Option<char> {
        self.rest = self.rest.trim_start();
        let found = self.rest.chars().next().filter(|c| operators.contains(c))?;
        self.rest = &self.rest[found.len_utf8()..];
        Some(found)
    }

    fn read_sum(&mut self) -> Result<Number, String> {
        let mut left = self.read_term()?;
        while let Some(operator) = self.take_operator(&['+', '-']) {
            let right = self.read_term()?;
            left = match operator {
                '+' => combine_numbers(left, right, i128::checked_add, |a, b| a + b)?,
                _ => combine_numbers(left, right, i128::checked_sub, |a, b| a - b)?,
            };
        }
        Ok(left)
    }

    fn read_term(&mut self) -> Result<Number, String> {
        let mut left = self.read_power()?;
        while let Some(operator) = self.take_operator(&['*', '/']) {
            let right = self.read_power()?;
            left = match operator {
                '*' => multiply(left, right)?,
                _ => combine_numbers(left, right, i128::checked_div, |a, b| a / b)?,
            };
        }
        Ok(left)
    }

    fn read_power(&mut self) -> Result<Number, String> {
        self.depth += 1;
        if self.depth > DEEPEST_NESTING {
            return Err(format!("an expression more than {DEEPEST_NESTING} levels deep"));
        }
        let base = self.read_remainder()?;
        let value = match self.take_operator(&['^']) {
            Some(_) => {
                let exponent = self.read_power()?;
                combine_numbers(base, exponent, checked_power, f64::powf)?
            }
            None => base,
        };
        self.depth -= 1;
        Ok(value)
    }

    fn read_remainder(&mut self) -> Result<Number, String> {
        let mut left = self.read_operand()?;
        while self.take_operator(&['%']).is_some() {
            let right = self.read_operand()?;
            left = combine_numbers(left, right, i128::checked_rem, |a, b| a % b)?;
        }
        Ok(left)
    }

    /// Reads a number, a negation or a parenthesis, with an optional unit.
    fn read_operand(&mut self) -> Result<Number, String> {
        self.depth += 1;
        if self.depth > DEEPEST_NESTING {
            return Err(format!("an expression more than {DEEPEST_NESTING} levels deep"));
        }
        let value = match self.take_operator(&['(', '-']) {
            Some('(') => {
                let inner = self.read_sum()?;
                self.take_operator(&[')']).ok_or("a parenthesis is not closed")?;
                inner
            }
            Some(_) => multiply(self.read_operand()?, Whole(-1))?,
            None => self.read_number()?,
        };
        self.depth -= 1;
        match self.read_unit()? {
            Some(unit) => multiply(value, Whole(unit)),
            None => Ok(value),
        }
    }

    fn read_number(&mut self) -> Result<Number, String> {
        let text = self.rest.trim_start();
        let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
        let body = hexadecimal.unwrap_or(text);
        let is_digit = |c: char| {
            if hexadecimal.is_some() { c.is_ascii_hexdigit() } else { c.is_ascii_digit() || c == '.' }
        };
        let end = body.find(|c| !is_digit(c)).unwrap_or(body.len());
        let (digits, rest) = body.split_at(end);
        self.rest = rest;
        let wrong = |_| format!("a number is missing before `{rest}`");
        match hexadecimal {
            Some(_) => i128::from_str_radix(digits, 16).map(Whole).map_err(|e| wrong(e.to_string())),
            None if digits.contains('.') => digits.parse().map(Real).map_err(|_| wrong(String::new())),
            None => digits.parse().map(Whole).map_err(|_| wrong(String::new())),
        }
    }

    /// Reads the unit that follows, if any, as a factor.
    fn read_unit(&mut self) -> Result<Option<i128>, String> {
        let text = self.rest.trim_start();
        let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
        if end == 0 {
            return Ok(None);
        }
        let factor = unit_factor(&text[..end].to_ascii_lowercase(), self.units.is_time)
            .ok_or_else(|| format!("`{}` is not a unit", &text[..end]))?;
        self.rest = &text[end..];
        self.has_unit = true;
        Ok(Some(factor))
    }
}

/// The factor of a unit: bytes, or microseconds. In fio's expressions `kib` is 1000 regardless of `kb_base`.
fn unit_factor(unit: &str, is_time: bool) -> Option<i128> {
    let power = |base: i128, exponent: u32| base.checked_pow(exponent);
    match unit {
        "us" => Some(1),
        "ms" => Some(1_000),
        "s" => Some(1_000_000),
        "m" if is_time => Some(60_000_000),
        "h" => Some(3_600_000_000),
        "d" => Some(86_400_000_000),
        "k" | "kb" => power(1024, 1),
        "m" | "mb" => power(1024, 2),
        "g" | "gb" => power(1024, 3),
        "t" | "tb" => power(1024, 4),
        "p" | "pb" => power(1024, 5),
        "kib" => power(1000, 1),
        "mib" => power(1000, 2),
        "gib" => power(1000, 3),
        "tib" => power(1000, 4),
        "pib" => power(1000, 5),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_precedence_of_fio() {
        for (text, value) in [
            ("2+3*4k", 2 + 3 * 4096),
            ("(2+3)*4k", 20480),
            ("5/2", 2),
            ("2^3^2", 512),
            ("7%4^2", 9),
            ("-(2)+0x10", 14),
            ("1.5g", 1_610_612_736),
            ("7*1024*1024*512/8", 7 * 1024 * 1024 * 64),
        ] {
            assert_eq!(evaluate_plain(text), Ok(value), "{text}");
        }
        assert_eq!(evaluate_with_units("2+3", NumberUnits { is_time: true, implied_factor: 1_000_000 }), Ok(5_000_000));
        assert_eq!(
            evaluate_with_units("1m+30s", NumberUnits { is_time: true, implied_factor: 1_000_000 }),
            Ok(90_000_000)
        );
        for text in ["", "1/0", "1%0", "(1", "2 furlongs", "1+", "9^99", &"(".repeat(5000), &"-".repeat(5000)] {
            assert!(evaluate_plain(text).is_err(), "{text}");
        }
    }
}
