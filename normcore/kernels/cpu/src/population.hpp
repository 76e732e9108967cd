// Normalization of a step by population statistics: gain (a - mean) / sqrt(var + eps) + shift (RBN Eq. 9) becomes one
// factor and one term.
#pragma once

#include "layout.hpp"
#include "recurrence.hpp"

// Factors and terms of the sites of a cell, laid out. `shift` belongs to the input's term; if the two terms are added,
// to their sum.
struct Affine {
    const real *gain_h, *gain_x, *gain_c, *shift, *shift_h, *shift_c;
};

class Population {
    const Recurrence& r;
    const Layout gates, units;
    const Affine fixed;
    const bool adds_terms;
    Array gain_h, gain_x, gain_c, shift, shift_h, shift_c;

   public:
    Population(const Recurrence& r, const Layout& gates, const Layout& units, const Affine& fixed, bool adds_terms)
        : r(r),
          gates(gates),
          units(units),
          fixed(fixed),
          adds_terms(adds_terms),
          gain_h(gates.width),
          gain_x(gates.width),
          gain_c(units.width),
          shift(gates.width),
          shift_h(gates.width),
          shift_c(units.width) {}

    Affine at(int t) {
        std::memcpy(shift, fixed.shift, gates.width * sizeof(real));
        std::memcpy(shift_h, fixed.shift_h, gates.width * sizeof(real));
        std::memcpy(shift_c, fixed.shift_c, units.width * sizeof(real));
        fold(r.recurrent, t, gates, fixed.gain_h, gain_h, adds_terms ? shift : shift_h);
        fold(r.input, t, gates, fixed.gain_x, gain_x, shift);
        fold(r.cell, t, units, fixed.gain_c, gain_c, shift_c);
        return {gain_h, gain_x, gain_c, shift, shift_h, shift_c};
    }

   private:
    // Compute a site's factor and term at step t. A variance of 0 gives the factor 0.
    static void fold(const Site& site, int t, const Layout& layout, const real* gain, real* factor, real* term) {
        const ptrdiff_t known = std::min<int64_t>(site.first + t, site.known - 1) * layout.gates * layout.hidden;
        for (int group = 0; group < layout.groups; ++group)
            for (int gate = 0; gate < layout.gates; ++gate) {
                const int at = layout.at(group, gate), units = layout.units(group);
                vec scale = load(gain + at);
                if (site.normalized) {
                    const ptrdiff_t usual = known + gate * layout.hidden + group * W;
                    const vec var = load(site.var + usual, units);
                    scale = var > 0 ? scale / sqrt(var + real(site.eps)) : vec{};
                    store(term + at, load(term + at) - load(site.mean + usual, units) * scale);
                }
                store(factor + at, scale);
            }
    }
};
