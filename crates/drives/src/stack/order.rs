//! The order of a stack's layers: that of [`layers`](super::layers), with the drivers of presets that say so below an array, or
//! the order that `order` asks for.
//!
//! Linux has its schedulers and its limits on the length of requests at each drive of an array, and none above it (`place` in
//! `hosts.toml`). Drives that share a bus or a cable have no layers of their own above it in the model, so their driver stands
//! above the array, and a note says so.

use super::hosts::HostPreset;
use super::kinds::{kind_of, strip_number};
use super::{LayerRequest, Setting, StackFile};
use crate::diagnostic::Diagnostic;
use crate::figure::Figure;

/// The values that the key `order` accepts.
pub(super) const ORDER: &str = "layers from the program down, such as processor, driver, array, controller";

/// The key under which the settings of a stack have its order, if it is not that of [`layers`](super::layers). Its kind is
/// [`Set`](crate::figure::FigureOrigin::Set) if `order` asks for it.
pub const ORDER_SETTING: &str = "stack.order";

/// The layers of a stack above its drive, in order.
pub(super) struct LayerOrder<'a> {
    /// From the program down.
    pub layers: Vec<&'a LayerRequest>,
    /// The order as a setting, if it is not that of the list of layers.
    pub setting: Option<Setting>,
    /// A layer that stands where its system has none.
    pub note: Option<Diagnostic>,
}

impl StackFile {
    /// The layers that the stack has above the drive, or the error in their order.
    pub(super) fn layers_in_order(&self, presets: &[HostPreset]) -> Result<LayerOrder<'_>, Vec<Diagnostic>> {
        let present: Vec<&LayerRequest> =
            self.layers.iter().filter(|request| request.is_present() && request.layer != "drive").collect();
        let ordered = match &self.order {
            None => self.default_order(present, presets),
            Some(order) => self.requested_order(&present, order, presets).map_err(|wrong| vec![wrong])?,
        };
        let mut kinds_above: Vec<&str> = Vec::new();
        for request in &ordered.layers {
            let kind = strip_number(&request.layer);
            let number = kinds_above.iter().filter(|above| **above == kind).count() + 1;
            let wanted = if number == 1 { kind.to_owned() } else { format!("{kind}-{number}") };
            if request.layer != wanted {
                let wrong = Diagnostic::at(&self.file, request.line, "has the wrong number").with_key(&request.layer);
                return Err(vec![
                    wrong.with_expected(format!("`{wanted}`: layers of a kind are numbered from the top")),
                ]);
            }
            kinds_above.push(kind);
        }
        Ok(ordered)
    }

    /// The order of a stack that asks for none: of the layers above an array, the first that belongs below it, and those under
    /// that, stand below it.
    fn default_order<'a>(&self, mut layers: Vec<&'a LayerRequest>, presets: &[HostPreset]) -> LayerOrder<'a> {
        let Some((index, array, figure)) = find_layer_above_array(&layers, presets) else {
            return LayerOrder { layers, setting: None, note: None };
        };
        if layers.iter().any(|request| kind_of(&request.layer).is_some_and(|kind| kind.shared)) {
            let LayerRequest { layer, line, .. } = layers[index];
            let message = "stands above the array, where Linux has none: its drives share a bus or a cable, above \
                           which the model has no driver for each of them";
            let note = Some(Diagnostic::at(&self.file, *line, message).with_key(layer));
            return LayerOrder { layers, setting: None, note };
        }
        layers[index..=array].rotate_right(1);
        let setting = Some(Setting {
            key: ORDER_SETTING.to_owned(),
            value: join_names(&layers),
            unit: String::new(),
            kind: figure.kind,
            source: figure.source.clone(),
        });
        LayerOrder { layers, setting, note: None }
    }

    /// The layers `present` in the order that the stack asks for, which must name each once.
    fn requested_order<'a>(
        &self,
        present: &[&'a LayerRequest],
        order: &[String],
        presets: &[HostPreset],
    ) -> Result<LayerOrder<'a>, Diagnostic> {
        let wrong = |message: String| Diagnostic::at(&self.file, self.order_line, message).with_key("order");
        let find = |name: &String| present.iter().find(|request| request.layer == *name).copied();
        let order: &[String] =
            if order.last().is_some_and(|last| last == "drive") { &order[..order.len() - 1] } else { order };
        for (index, name) in order.iter().enumerate() {
            if find(name).is_none() {
                let known = present.iter().map(|request| request.layer.as_str());
                let message = format!("names `{name}`, which is not in the stack");
                return Err(wrong(message)
                    .with_expected(format!("{ORDER}, each of which is there"))
                    .suggest_nearest(name, known));
            }
            if order[..index].contains(name) {
                return Err(
                    wrong(format!("names `{name}` twice")).with_expected(format!("`{name}-2` for a second one"))
                );
            }
        }
        if let Some(omitted) = present.iter().find(|request| !order.contains(&request.layer)) {
            return Err(wrong(format!("omits `{}`", omitted.layer)).with_expected("each layer of the stack"));
        }
        let layers: Vec<&LayerRequest> = order.iter().filter_map(find).collect();
        let note = find_layer_above_array(&layers, presets)
            .map(|(index, ..)| wrong(format!("has `{}` above the array, where Linux has none", layers[index].layer)));
        let setting = Setting::set_by_user(ORDER_SETTING.to_owned(), join_names(&layers), "asked for");
        Ok(LayerOrder { layers, setting: Some(setting), note })
    }
}

fn join_names(layers: &[&LayerRequest]) -> String {
    layers.iter().map(|request| request.layer.as_str()).collect::<Vec<_>>().join(", ")
}

/// Of `layers`, in order from the program down, the first above the array whose preset belongs below it: its index, the array's, and
/// the figure that says so.
fn find_layer_above_array<'p>(
    layers: &[&LayerRequest],
    presets: &'p [HostPreset],
) -> Option<(usize, usize, &'p Figure)> {
    let array = layers.iter().position(|request| strip_number(&request.layer) == "array")?;
    let place_of = |request: &LayerRequest| {
        let kind = strip_number(&request.layer);
        presets.iter().find(|preset| preset.layer == kind && preset.name == request.name)?.below_array.as_ref()
    };
    layers[..array].iter().enumerate().find_map(|(index, request)| Some((index, array, place_of(request)?)))
}
