//! The key `credit` of a comparison, read and written: a list of concerns.

use serde::Serializer;
use serde::de::{Deserialize, Deserializer, Error};

use seekwise_drives::concern::Concern;
use seekwise_drives::spelling::nearest;

/// Reads the key `credit` of a comparison: `["queue", "controller"]`.
pub(super) fn read_credit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Concern>>, D::Error> {
    let toml::Value::Array(list) = toml::Value::deserialize(deserializer)? else {
        return Err(D::Error::custom(credit_fault("`credit` is not a list of concerns")));
    };
    let concern = |value: &toml::Value| {
        let word = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let near = nearest(&word, Concern::words()).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        Concern::from_word(&word).ok_or(credit_fault(&format!("unknown concern `{word}`")) + &near)
    };
    let mut concerns = list.iter().map(concern).collect::<Result<Vec<_>, _>>().map_err(D::Error::custom)?;
    concerns.dedup();
    match concerns.is_empty() {
        true => Err(D::Error::custom(credit_fault("`credit` is empty"))),
        false => Ok(Some(concerns)),
    }
}

/// The text of a fault in a credit.
pub(super) fn credit_fault(what: &str) -> String {
    format!("{what}; expected one or more of {}", Concern::words().collect::<Vec<_>>().join(", "))
}

/// Writes the key `credit` as it is read.
pub(super) fn write_credit<S: Serializer>(credit: &Option<Vec<Concern>>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(credit.iter().flatten().map(|concern| concern.word()))
}
