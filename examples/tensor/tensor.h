/* The parameters of tensor/update: what the module tensor and its driver share.
 */
#ifndef TENSOR_H
#define TENSOR_H

struct tensor_update { double rate, rows; };

#endif
