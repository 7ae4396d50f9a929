/* What the driver (train.c) and the module (digits.c) agree on.
 */
#ifndef DIGITS_H
#define DIGITS_H

/* Parameters of digits/update: weights -= rate / rows * gradient, where the gradient is a sum over `rows` rows. */
struct digits_update {
        float rate;
        float rows;
};

#endif
